#include "compare/field_values.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "model/equality.hpp"
#include "onnx/operators.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::compare {

using onnx::field;
using onnx::Message;

namespace {

// Bytes. A tensor of more is compared by its values.
constexpr std::uint64_t kSmallTensor = 64 << 10;

// Text and unknown fields are structure: they are small, or were asked for.
bool same_bytes(const DocumentMessage& a, ByteView in_a, const DocumentMessage& b, ByteView in_b) {
    if (in_a.size() != in_b.size()) return false;
    if (in_a.data() == in_b.data()) return true;
    return std::ranges::equal(a.document.resident(in_a), b.document.resident(in_b));
}

bool is_tensor(const Message& message) { return &message.table() == &onnx::message<"TensorProto">; }

bool same_small_tensor(const DocumentMessage& a, const DocumentMessage& b) {
    if (std::max(a.message.nbytes(), b.message.nbytes()) > kSmallTensor) return false;
    const auto present = rows_of(a.message) | rows_of(b.message);
    for (const auto* const elsewhere :
         {&field<"TensorProto.external_data">, &field<"TensorProto.data_location">,
          &field<"TensorProto.segment">}) {
        if ((present & onnx::Pieces::rows(a.message.table(), *elsewhere)) != 0) return false;
    }
    return model::equal(a.document, a.message, b.document, b.message);
}

bool has_bytes(const wire::Field& value) noexcept {
    return value.type == wire::WireType::length_delimited ||
           value.type == wire::WireType::start_group;
}

bool is_domain(const wire::FieldRow& row) noexcept {
    return &row == &field<"NodeProto.domain"> || &row == &field<"FunctionProto.domain"> ||
           &row == &field<"OperatorSetIdProto.domain">;
}

std::string_view domain_of(const Message& message, const wire::FieldRow& row) {
    return onnx::plain_domain(message.text(row));
}

std::vector<wire::Field> unknown_fields(const Message& message) {
    std::vector<wire::Field> fields;
    message.for_each_field([&](const wire::Field& value, const wire::FieldRow* row) {
        if (row == nullptr) fields.push_back(value);
    });
    std::ranges::stable_sort(fields, {}, &wire::Field::number);
    return fields;
}

bool same_value(const DocumentMessage& a, const DocumentMessage& b, const wire::FieldRow& row,
                const wire::Field& in_a, const wire::Field& in_b) {
    if (row.is_text()) return same_bytes(a, in_a.bytes, b, in_b.bytes);
    if (row.type == wire::Type::int32 || row.type == wire::Type::enumeration) {
        return in_a.int32() == in_b.int32();
    }
    return in_a.value == in_b.value;
}

Scalar scalar_of(const model::Document& document, const wire::FieldRow& row,
                 const wire::Field& value) {
    const auto text = [&] { return std::string(as_text(document.resident(value.bytes))); };
    switch (row.type) {
        case wire::Type::float32: return static_cast<double>(value.float32());
        case wire::Type::float64: return value.float64();
        case wire::Type::string: return Text{text()};
        case wire::Type::bytes: return Bytes{text()};
        case wire::Type::int32: return std::int64_t{value.int32()};
        case wire::Type::enumeration: {
            const wire::EnumValue* const known = onnx::kSchema.enum_of(row).find(value.int32());
            if (known == nullptr) return std::int64_t{value.int32()};
            return Text{std::string(known->name)};
        }
        default: return value.int64();
    }
}

// The values of a repeated field. A packed run takes few bytes for each value, so they are compared
// without a copy of all.
class Scalars {
  public:
    Scalars(const DocumentMessage& in, const wire::FieldRow& row)
        : document_(in.document), row_(row), walk_(in.message) {}

    bool next(wire::Field& value) {
        while (true) {
            if (!run_.empty() && next_in_run(value)) return true;
            wire::Field found;
            do {
                if (!walk_.next(found)) return false;
            } while (!onnx::Message::belongs(found, row_));
            if (found.type == row_.wire_type()) {
                value = found;
                return true;
            }
            run_ = document_.resident(found.bytes);
        }
    }

  private:
    bool next_in_run(wire::Field& value) {
        value = {};
        value.number = row_.number;
        value.type = row_.wire_type();
        if (value.type == wire::WireType::varint) {
            const wire::Varint varint = wire::read_varint(run_.data(), run_.data() + run_.size());
            if (varint.nbytes <= 0) {  // a load with check="lazy" has not checked it
                run_ = {};
                return false;
            }
            value.value = varint.value;
            run_ = run_.subspan(static_cast<std::size_t>(varint.nbytes));
            return true;
        }
        const std::size_t width = value.type == wire::WireType::fixed64 ? 8 : 4;
        if (run_.size() < width) {
            run_ = {};
            return false;
        }
        value.value = width == 8 ? wire::load64(run_.data()) : wire::load32(run_.data());
        run_ = run_.subspan(width);
        return true;
    }

    const model::Document& document_;
    const wire::FieldRow& row_;
    Message::Walk walk_;
    ByteView run_;
};

// What tells the elements of a list apart. The order of such lists has no meaning, but for the
// inputs and outputs of a graph, and for segments among the initializers.
constexpr std::pair<const wire::MessageTable*, const wire::FieldRow*> kKeys[] = {
    {&onnx::message<"AttributeProto">, &field<"AttributeProto.name">},
    {&onnx::message<"DeviceConfigurationProto">, &field<"DeviceConfigurationProto.name">},
    {&onnx::message<"FunctionProto">, &field<"FunctionProto.name">},
    {&onnx::message<"NodeDeviceConfigurationProto">,
     &field<"NodeDeviceConfigurationProto.configuration_id">},
    {&onnx::message<"OperatorSetIdProto">, &field<"OperatorSetIdProto.domain">},
    {&onnx::message<"StringStringEntryProto">, &field<"StringStringEntryProto.key">},
    {&onnx::message<"TensorAnnotation">, &field<"TensorAnnotation.tensor_name">},
    {&onnx::message<"ValueInfoProto">, &field<"ValueInfoProto.name">},
};

// The field with the key of the elements of a list; null if they have none of their own.
const wire::FieldRow* key_field(const wire::FieldRow& list) noexcept {
    if (&list == &field<"GraphProto.initializer">) return &field<"TensorProto.name">;
    const auto* const found = std::ranges::find(kKeys, &onnx::kSchema.message_of(list),
                                                [](const auto& each) { return each.first; });
    return found == std::end(kKeys) ? nullptr : found->second;
}

}  // namespace

Elements::Elements(const Message& parent, const wire::FieldRow& row) : parent_(parent), row_(row) {
    parent.for_each_field([&](const wire::Field& found, const wire::FieldRow* known) {
        if (known == &row) bytes_.push_back(found.bytes);
    });
}

bool is_identical(const DocumentMessage& a, const DocumentMessage& b, std::uint32_t depth_left) {
    if (&a.message.table() != &b.message.table()) return false;
    if (is_tensor(a.message)) return same_small_tensor(a, b);
    if (&a.message.table() == &onnx::message<"GraphProto"> || depth_left == 0) return false;
    Message::Walk walk_a(a.message);
    Message::Walk walk_b(b.message);
    wire::Field in_a;
    wire::Field in_b;
    onnx::Pieces::Rows single_messages = 0;
    while (true) {
        const bool more = walk_a.next(in_a);
        if (walk_b.next(in_b) != more) return false;
        if (!more) return true;
        if (in_a.number != in_b.number || in_a.type != in_b.type) return false;
        if (!has_bytes(in_a)) {
            if (in_a.value != in_b.value) return false;
            continue;
        }
        const wire::FieldRow* const row = a.message.known_row(in_a);
        if (row == nullptr || !row->is_message()) {
            if (!same_bytes(a, in_a.bytes, b, in_b.bytes)) return false;
            continue;
        }
        if (!row->repeated()) {  // occurrences of one message merge
            const auto here = onnx::Pieces::rows(a.message.table(), *row);
            if ((single_messages & here) != 0) return false;
            single_messages |= here;
        }
        const Message inner_a = a.message.inner(*row, in_a);
        const Message inner_b = b.message.inner(*row, in_b);
        if (!is_identical({a.document, inner_a}, {b.document, inner_b}, depth_left - 1)) {
            return false;
        }
    }
}

bool same_single(const DocumentMessage& a, const DocumentMessage& b, const wire::FieldRow& row) {
    const auto in_a = a.message.find(row);
    const auto in_b = b.message.find(row);
    if (!in_a && !in_b) return true;
    if (is_domain(row)) return domain_of(a.message, row) == domain_of(b.message, row);
    if (in_a && in_b) return same_value(a, b, row, *in_a, *in_b);
    const wire::Field& present = in_a ? *in_a : *in_b;
    const bool is_default = row.is_text() ? present.bytes.empty() : present.value == 0;
    return row.oneof.empty() && is_default;
}

bool same_list(const DocumentMessage& a, const DocumentMessage& b, const wire::FieldRow& row) {
    Scalars of_a(a, row);
    Scalars of_b(b, row);
    wire::Field in_a;
    wire::Field in_b;
    while (of_a.next(in_a)) {
        if (!of_b.next(in_b) || !same_value(a, b, row, in_a, in_b)) return false;
    }
    return !of_b.next(in_b);
}

bool same_unknown_fields(const DocumentMessage& a, const DocumentMessage& b) {
    return std::ranges::equal(unknown_fields(a.message), unknown_fields(b.message),
                              [&](const wire::Field& in_a, const wire::Field& in_b) {
                                  if (in_a.number != in_b.number || in_a.type != in_b.type)
                                      return false;
                                  return has_bytes(in_a) ? same_bytes(a, in_a.bytes, b, in_b.bytes)
                                                         : in_a.value == in_b.value;
                              });
}

Value value_of(const DocumentMessage& in, const wire::FieldRow& row) {
    if (!row.repeated()) {
        const auto found = in.message.find(row);
        if (!found) return {};
        return scalar_of(in.document, row, *found);
    }
    List list;
    Scalars scalars(in, row);
    wire::Field value;
    while (!list.cut && scalars.next(value)) {
        if (list.values.size() == List::kMost) {
            list.cut = true;
        } else {
            list.values.push_back(scalar_of(in.document, row, value));
        }
    }
    return list;
}

Value summary_of(const DocumentMessage& in) {
    const wire::MessageTable* const table = &in.message.table();
    if (table == &onnx::message<"StringStringEntryProto">) {
        return value_of(in, field<"StringStringEntryProto.value">);
    }
    if (table == &onnx::message<"OperatorSetIdProto">) {
        return value_of(in, field<"OperatorSetIdProto.version">);
    }
    if (table != &onnx::message<"AttributeProto">) return {};
    const auto present = rows_of(in.message);
    const wire::FieldRow* const values[] = {
        &field<"AttributeProto.f">,
        &field<"AttributeProto.i">,
        &field<"AttributeProto.s">,
        &field<"AttributeProto.floats">,
        &field<"AttributeProto.ints">,
        &field<"AttributeProto.strings">,
        &field<"AttributeProto.ref_attr_name">,
    };
    for (const wire::FieldRow* row : values) {
        if ((present & onnx::Pieces::rows(*table, *row)) != 0) return value_of(in, *row);
    }
    return {};
}

bool has_key(const wire::FieldRow& list) noexcept {
    return &list == &field<"GraphProto.sparse_initializer"> || key_field(list) != nullptr;
}

std::string key_of(const wire::FieldRow& list, const Message& element) {
    if (&list == &field<"GraphProto.sparse_initializer">) {
        const auto values = element.child(field<"SparseTensorProto.values">);
        return values ? std::string(values->text(field<"TensorProto.name">)) : std::string();
    }
    const wire::FieldRow& named = *key_field(list);
    if (is_domain(named)) return std::string(domain_of(element, named));
    std::string key(element.text(named));
    if (&element.table() == &onnx::message<"FunctionProto">) {
        key += '\0';
        key += domain_of(element, field<"FunctionProto.domain">);
        key += '\0';
        key += element.text(field<"FunctionProto.overload">);
    }
    return key;
}

onnx::Pieces::Rows rows_of(const Message& message) {
    onnx::Pieces::Rows rows = 0;
    message.for_each_field([&](const wire::Field&, const wire::FieldRow* row) {
        if (row != nullptr) rows |= onnx::Pieces::rows(message.table(), *row);
    });
    return rows;
}

}  // namespace onnxmap::compare
