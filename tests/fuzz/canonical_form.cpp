#include "fuzz/canonical_form.hpp"

#include <memory>
#include <stdexcept>
#include <string>

namespace onnxmap::fuzz {

namespace {

using wire::FieldRow;
using wire::WireType;

constexpr std::uint64_t kIndexStride = 5;  // every fifth member is looked up by number as well

class Writer {
  public:
    explicit Writer(const model::Document& document) : document_(document) {}

    [[nodiscard]] Bytes write(const onnx::Message& message) {
        Bytes to;
        std::shared_ptr<const model::FieldIndex> index;  // made for the first field that needs it
        for (std::uint32_t number = 1; number <= wire::MessageTable::kMaxNumber; ++number) {
            const FieldRow* row = message.table().find(number);
            if (row == nullptr || row->retired) continue;
            if (row->repeated() && row->is_message()) {
                if (!index) index = document_.index(message);
                write_members(to, *index, *row);
            } else if (row->repeated()) {
                write_values(to, message, *row);
            } else {
                write_singular(to, message, *row);
            }
        }
        write_unknown(to, message);
        return to;
    }

  private:
    static void write_tag(Bytes& to, const FieldRow& row, WireType type) {
        write_varint(to, std::uint64_t{row.number} << 3 | static_cast<std::uint64_t>(type));
    }

    static void write_block(Bytes& to, const FieldRow& row, ByteView content) {
        write_tag(to, row, WireType::length_delimited);
        write_varint(to, content.size());
        to.insert(to.end(), content.begin(), content.end());
    }

    void write_singular(Bytes& to, const onnx::Message& message, const FieldRow& row) {
        const auto field = document_.find(message, row);
        if (!row.oneof.empty() && field.has_value() != (message.which(row.oneof) == &row)) {
            throw std::logic_error("find() and which() disagree: " + std::string(row.name));
        }
        if (row.is_message()) {
            const auto child = document_.child(message, row);
            if (child.has_value() != field.has_value()) {
                throw std::logic_error("find() and child() disagree: " + std::string(row.name));
            }
            if (child) write_block(to, row, write(*child));
        } else if (field) {
            write_tagged_value(to, row, *field);
        }
    }

    static void write_values(Bytes& to, const onnx::Message& message, const FieldRow& row) {
        if (row.packed) {
            Bytes run;
            message.for_each_value(row, [&](const auto& value) { write_value(run, row, value); });
            if (!run.empty()) write_block(to, row, run);
        } else {
            message.for_each_value(row,
                                   [&](const auto& value) { write_tagged_value(to, row, value); });
        }
    }

    void write_members(Bytes& to, const model::FieldIndex& index, const FieldRow& row) {
        std::uint64_t ordinal = 0;
        index.for_each(row, [&](const wire::Field& member) {
            if (ordinal % kIndexStride == 0 && index.at(row, ordinal).begin != member.begin) {
                throw std::logic_error("at() and for_each() disagree: " + std::string(row.name));
            }
            ++ordinal;
            write_block(to, row, write(index.message().inner(row, member)));
        });
    }

    static void write_tagged_value(Bytes& to, const FieldRow& row, const wire::Field& field) {
        if (row.is_text()) {
            write_block(to, row, field.bytes);
        } else {
            write_tag(to, row, row.wire_type());
            write_value(to, row, field);
        }
    }

    static void write_value(Bytes& to, const FieldRow& row, const wire::Field& field) {
        switch (row.type) {
            case wire::Type::float32: write_little_endian(to, field.value, 4); return;
            case wire::Type::float64: write_little_endian(to, field.value, 8); return;
            case wire::Type::int32:
            case wire::Type::enumeration:  // sign-extended to 64 bits
                write_varint(to, static_cast<std::uint64_t>(std::int64_t{field.int32()}));
                return;
            default: write_varint(to, field.value);
        }
    }

    static void write_unknown(Bytes& to, const onnx::Message& message) {
        message.for_each_field([&](const wire::Field& field, const FieldRow* known) {
            if (known != nullptr && !known->retired) return;
            to.insert(to.end(), field.begin, field.end);
        });
    }

    const model::Document& document_;
};

}  // namespace

Bytes canonical_form(const model::Document& document) {
    return canonical_form(document, document.root());
}

Bytes canonical_form(const model::Document& document, const onnx::Message& message) {
    return Writer(document).write(message);
}

}  // namespace onnxmap::fuzz
