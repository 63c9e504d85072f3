#include "model/equality.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "model/followed_list.hpp"
#include "model/named_list.hpp"
#include "source/source.hpp"

namespace onnxmap::model {

using onnx::Message;
using source::Source;

namespace {

// Read at a time from a file that is not mapped.
constexpr std::size_t kPart = std::size_t{1} << 20;

// The values of a repeated field one by one, packed or not.
class Values {
  public:
    Values(const Document& document, const Message& message, const wire::FieldRow& row)
        : document_(&document), row_(&row), walk_(message) {}

    bool next(wire::Field& value) {
        while (!next_in_run(value)) {
            wire::Field found;
            do {
                if (!walk_.next(found)) return false;
            } while (!Message::belongs(found, *row_));
            if (found.type == row_->wire_type()) {
                value = found;
                return true;
            }
            run_ = document_->resident(found.bytes);
            varints_ = wire::PackedVarints(run_);
        }
        return true;
    }

  private:
    bool next_in_run(wire::Field& value) {
        value.type = row_->wire_type();
        if (value.type == wire::WireType::varint) return varints_.next(value.value);
        const std::size_t width = value.type == wire::WireType::fixed64 ? 8 : 4;
        if (run_.size() < width) return false;
        value.value = width == 8 ? wire::load64(run_.data()) : wire::load32(run_.data());
        run_ = run_.subspan(width);
        return true;
    }

    const Document* document_;
    const wire::FieldRow* row_;
    Message::Walk walk_;
    ByteView run_;                             // of fixed width
    wire::PackedVarints varints_{ByteView{}};  // the same run as varints
};

// Bytes of a message in parts: views, or copies if the source has no bytes in memory.
class Parts {
  public:
    Parts(const Document& document, ByteView bytes)
        : source_(document.source_of(bytes)), bytes_(bytes) {
        // What an edit added is read by the source, too: no guard of the document covers it.
        is_view_ = source_.get() == &document.source() && source_->viewable();
        if (!is_view_) copy_.resize(std::min(bytes.size(), kPart));
    }

    ByteView at(std::size_t begin, std::size_t count) {
        const ByteView part = bytes_.subspan(begin, count);
        if (is_view_) return part;
        const std::span<std::uint8_t> out(copy_.data(), count);
        source_->read(source_->offset_of(part), out);
        return out;
    }

  private:
    std::shared_ptr<const Source> source_;
    ByteView bytes_;
    bool is_view_;
    std::vector<std::uint8_t> copy_;
};

std::vector<wire::Field> unknown_fields(const Message& message) {
    std::vector<wire::Field> fields;
    message.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
        if (row == nullptr) fields.push_back(field);
    });
    std::ranges::stable_sort(fields, {}, &wire::Field::number);
    return fields;
}

class Comparison {
  public:
    Comparison(const Document& of_a, const Document& of_b)
        : document_a_(of_a),
          document_b_(of_b),
          depth_left_(std::max(of_a.limits().depth, of_b.limits().depth) + 1) {}

    bool messages(const Message& a, const Message& b) {
        if (&a.table() != &b.table()) return false;
        if (depth_left_ == 0) onnx::fail_too_deep(a);
        --depth_left_;
        const bool same =
            std::ranges::all_of(a.table().fields,
                                [&](const wire::FieldRow& row) {
                                    return row.repeated() ? lists(a, b, row) : singles(a, b, row);
                                }) &&
            std::ranges::equal(unknown_fields(a), unknown_fields(b),
                               [&](const wire::Field& in_a, const wire::Field& in_b) {
                                   return unknown(in_a, in_b);
                               });
        ++depth_left_;
        return same;
    }

  private:
    bool singles(const Message& a, const Message& b, const wire::FieldRow& row) {
        if (row.is_message()) {
            const auto in_a = a.child(row);
            const auto in_b = b.child(row);
            return in_a && in_b ? messages(*in_a, *in_b) : in_a.has_value() == in_b.has_value();
        }
        const auto in_a = a.find(row);
        const auto in_b = b.find(row);
        return in_a && in_b ? values(row, *in_a, *in_b) : in_a.has_value() == in_b.has_value();
    }

    bool lists(const Message& a, const Message& b, const wire::FieldRow& row) {
        Values of_a(document_a_, a, row);
        Values of_b(document_b_, b, row);
        wire::Field in_a;
        wire::Field in_b;
        while (of_a.next(in_a)) {
            if (!of_b.next(in_b)) return false;
            const bool same = row.is_message() ? messages(a.inner(row, in_a), b.inner(row, in_b))
                                               : values(row, in_a, in_b);
            if (!same) return false;
        }
        return !of_b.next(in_b);
    }

    [[nodiscard]] bool unknown(const wire::Field& a, const wire::Field& b) const {
        if (a.number != b.number || a.type != b.type) return false;
        const bool has_bytes =
            a.type == wire::WireType::length_delimited || a.type == wire::WireType::start_group;
        return has_bytes ? bytes(a.bytes, b.bytes) : a.value == b.value;
    }

    [[nodiscard]] bool values(const wire::FieldRow& row, const wire::Field& a,
                              const wire::Field& b) const {
        switch (row.type) {
            case wire::Type::int64:
            case wire::Type::uint64:
            case wire::Type::float32:
            case wire::Type::float64: return a.value == b.value;
            case wire::Type::int32:
            case wire::Type::enumeration: return a.int32() == b.int32();
            case wire::Type::string: return same(a.bytes, b.bytes);
            default: return bytes(a.bytes, b.bytes);
        }
    }

    // Structure is in memory, and only values of tensors need to be read.
    [[nodiscard]] bool same(ByteView a, ByteView b) const {
        return a.size() == b.size() &&
               std::ranges::equal(document_a_.resident(a), document_b_.resident(b));
    }

    [[nodiscard]] bool bytes(ByteView a, ByteView b) const {
        if (a.size() != b.size()) return false;
        Parts parts_of_a(document_a_, a);
        Parts parts_of_b(document_b_, b);
        for (std::size_t begin = 0; begin < a.size(); begin += kPart) {
            const std::size_t count = std::min(kPart, a.size() - begin);
            if (!std::ranges::equal(parts_of_a.at(begin, count), parts_of_b.at(begin, count))) {
                return false;
            }
        }
        return true;
    }

    const Document& document_a_;
    const Document& document_b_;
    std::uint32_t depth_left_;
};

}  // namespace

bool equal(const Document& of_a, const Message& a, const Document& of_b, const Message& b) {
    return Comparison(of_a, of_b).messages(a, b);
}

namespace {

const wire::FieldRow* telling_field(const wire::MessageTable& table) {
    for (const char* const name : {"output", "name", "key", "domain", "tensor_name"}) {
        const wire::FieldRow* const row = table.find(name);
        if (row != nullptr && row->type == wire::Type::string) return row;
    }
    return nullptr;
}

}  // namespace

std::string telling_text(const onnx::Message& message) {
    const wire::FieldRow* const row = telling_field(message.table());
    if (row == nullptr) return {};
    return std::string(FollowedNames::name_of(message, *row));
}

std::vector<std::uint64_t> with_telling_text(const Document& document, const FieldIndex& fields,
                                             const wire::FieldRow& list, std::string_view text) {
    const wire::FieldRow* const row = telling_field(onnx::kSchema.message_of(list));
    if (row != nullptr) return NamedList(document, fields, list, *row).positions(text);
    std::vector<std::uint64_t> all(fields.count(list));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

}  // namespace onnxmap::model
