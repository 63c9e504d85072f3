#include "fuzz/field_tree.hpp"

#include <algorithm>
#include <utility>

#include "onnx/schema.hpp"

namespace onnxmap::fuzz {

namespace {

using Kind = Field::Kind;

// Deeper content stays bytes. This is above protobuf's limit of 100, and small enough for any
// stack.
constexpr std::size_t kMaxDepth = 128;
constexpr std::uint64_t kMaxNumber = (1U << 29) - 1;

struct Number {
    std::uint64_t value = 0;
    std::uint8_t width = 0;  // 0 if there is none that can be written again
};

class TreeReader {
  public:
    explicit TreeReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    // Reads fields up to `end`, or up to the end tag of `group`.
    void read(std::vector<Field>& fields, std::size_t end, const wire::MessageTable* table,
              Field* group, std::size_t depth) {
        while (at_ < end) {
            const std::size_t begin = at_;
            Field field;
            switch (read_field(field, end, table, group, depth)) {
                case Found::field: fields.push_back(std::move(field)); break;
                case Found::end_of_group: return;
                case Found::stray_end: fields.push_back(raw(begin, at_)); break;
                case Found::nothing: fields.push_back(raw(begin, end)); at_ = end;
            }
        }
        if (group != nullptr) group->closed = false;
    }

  private:
    enum class Found : std::uint8_t { field, end_of_group, stray_end, nothing };

    Found read_field(Field& field, std::size_t end, const wire::MessageTable* table, Field* group,
                     std::size_t depth) {
        const Number tag = read_number(end);
        if (tag.width == 0) return Found::nothing;
        field.number = tag.value >> 3;
        field.tag_width = tag.width;
        const auto type = tag.value & 7;
        if (type == 4) {
            if (group == nullptr) return Found::stray_end;
            group->end_number = field.number;
            group->end_width = tag.width;
            return Found::end_of_group;
        }
        if (type > 5) return Found::nothing;
        field.kind = static_cast<Kind>(type);
        switch (field.kind) {
            case Kind::varint: {
                const Number number = read_number(end);
                field.value = number.value;
                field.value_width = number.width;
                return number.width == 0 ? Found::nothing : Found::field;
            }
            case Kind::fixed64: return read_fixed(field, 8, end);
            case Kind::fixed32: return read_fixed(field, 4, end);
            case Kind::group:
                if (depth >= kMaxDepth) return Found::nothing;
                read(field.fields, end, nullptr, &field, depth + 1);
                return Found::field;
            default: return read_length(field, end, table, depth);
        }
    }

    Found read_fixed(Field& field, std::size_t width, std::size_t end) {
        if (end - at_ < width) return Found::nothing;
        for (std::size_t i = 0; i < width; ++i) {
            field.value |= static_cast<std::uint64_t>(bytes_[at_++]) << (8 * i);
        }
        return Found::field;
    }

    Found read_length(Field& field, std::size_t end, const wire::MessageTable* table,
                      std::size_t depth) {
        const Number length = read_number(end);
        if (length.width == 0) return Found::nothing;
        field.value_width = length.width;
        const std::uint64_t size = std::min<std::uint64_t>(length.value, end - at_);
        field.length_error = static_cast<std::int64_t>(length.value - size);
        const std::size_t begin = at_;
        const std::size_t stop = begin + static_cast<std::size_t>(size);
        const wire::FieldRow* row = row_of(table, field.number);
        if (depth < kMaxDepth && row != nullptr && row->is_message()) {
            field.kind = Kind::message;
            field.table = &onnx::kSchema.message_of(*row);
            read(field.fields, stop, field.table, nullptr, depth + 1);
        } else if (depth < kMaxDepth && row == nullptr && size > 0) {
            std::vector<Field> guess;
            read(guess, stop, nullptr, nullptr, depth + 1);
            if (looks_like_message(guess)) {
                field.kind = Kind::message;
                field.fields = std::move(guess);
            }
        }
        if (field.kind == Kind::bytes) field.bytes = raw(begin, stop).bytes;
        at_ = stop;
        return Found::field;
    }

    static const wire::FieldRow* row_of(const wire::MessageTable* table, std::uint64_t number) {
        if (table == nullptr || number > wire::MessageTable::kMaxNumber) return nullptr;
        return table->find(static_cast<std::uint32_t>(number));
    }

    static bool looks_like_message(const std::vector<Field>& fields) {
        for (const Field& field : fields) {
            if (field.kind == Kind::raw || field.length_error != 0 || !field.closed) return false;
            if (field.number == 0 || field.number > kMaxNumber) return false;
        }
        return true;
    }

    Number read_number(std::size_t end) {
        Number number;
        for (std::size_t at = at_; at < end && number.width < 10; ++at) {
            const std::uint8_t byte = bytes_[at];
            if (number.width == 9 && byte > 1) return {};  // written again it would lose bits
            number.value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * number.width);
            ++number.width;
            if (byte < 0x80) {
                at_ = at + 1;
                return number;
            }
        }
        return {};
    }

    [[nodiscard]] Field raw(std::size_t begin, std::size_t end) const {
        Field field;
        const auto part = bytes_.subspan(begin, end - begin);
        field.bytes.assign(part.begin(), part.end());
        return field;
    }

    std::span<const std::uint8_t> bytes_;
    std::size_t at_ = 0;
};

std::size_t varint_size(std::uint64_t value, std::size_t least_width) {
    std::size_t size = 1;
    while (value >>= 7) ++size;
    return std::max(size, least_width);
}

std::uint64_t tag_of(std::uint64_t number, std::uint64_t type) { return number << 3 | type; }

std::uint64_t wire_type_of(const Field& field) {
    return field.kind == Kind::message ? 2 : static_cast<std::uint64_t>(field.kind);
}

// The sizes of the contents of all messages, in the order in which they are written. A length
// stands before its content: without these sizes, content would be written once more for each
// level.
class TreeWriter {
  public:
    Bytes write(const std::vector<Field>& fields) {
        Bytes bytes;
        bytes.reserve(measure(fields));
        write_list(bytes, fields);
        return bytes;
    }

  private:
    std::size_t measure(const std::vector<Field>& fields) {
        std::size_t sum = 0;
        for (const Field& field : fields) sum += measure(field);
        return sum;
    }

    std::size_t measure(const Field& field) {
        if (field.kind == Kind::raw) return field.bytes.size();
        const std::size_t tag =
            varint_size(tag_of(field.number, wire_type_of(field)), field.tag_width);
        switch (field.kind) {
            case Kind::varint: return tag + varint_size(field.value, field.value_width);
            case Kind::fixed64: return tag + 8;
            case Kind::fixed32: return tag + 4;
            case Kind::bytes:
                return tag + field.bytes.size() + length_size(field, field.bytes.size());
            case Kind::group: {
                const std::size_t end =
                    field.closed ? varint_size(tag_of(field.end_number, 4), field.end_width) : 0;
                return tag + measure(field.fields) + end;
            }
            default: {
                const std::size_t slot = sizes_.size();
                sizes_.push_back(0);
                const std::size_t size = measure(field.fields);
                sizes_[slot] = size;
                return tag + size + length_size(field, size);
            }
        }
    }

    static std::uint64_t length_of(const Field& field, std::size_t size) {
        return size + static_cast<std::uint64_t>(field.length_error);
    }
    static std::size_t length_size(const Field& field, std::size_t size) {
        return varint_size(length_of(field, size), field.value_width);
    }

    void write_list(Bytes& to, const std::vector<Field>& fields) {
        for (const Field& field : fields) write_one(to, field);
    }

    void write_one(Bytes& to, const Field& field) {
        if (field.kind != Kind::raw) {
            write_varint(to, tag_of(field.number, wire_type_of(field)), field.tag_width);
        }
        switch (field.kind) {
            case Kind::varint: write_varint(to, field.value, field.value_width); return;
            case Kind::fixed64: write_little_endian(to, field.value, 8); return;
            case Kind::fixed32: write_little_endian(to, field.value, 4); return;
            case Kind::bytes:
                write_varint(to, length_of(field, field.bytes.size()), field.value_width);
                [[fallthrough]];
            case Kind::raw: to.insert(to.end(), field.bytes.begin(), field.bytes.end()); return;
            case Kind::message:
                write_varint(to, length_of(field, sizes_[next_++]), field.value_width);
                write_list(to, field.fields);
                return;
            case Kind::group:
                write_list(to, field.fields);
                if (field.closed) {
                    write_varint(to, tag_of(field.end_number, 4), field.end_width);
                }
        }
    }

    std::vector<std::size_t> sizes_;
    std::size_t next_ = 0;
};

}  // namespace

std::vector<Field> read_fields(std::span<const std::uint8_t> bytes,
                               const wire::MessageTable* table) {
    std::vector<Field> fields;
    TreeReader(bytes).read(fields, bytes.size(), table, nullptr, 0);
    return fields;
}

Bytes write_fields(const std::vector<Field>& fields) { return TreeWriter().write(fields); }

void write_varint(Bytes& to, std::uint64_t value, std::size_t least_width) {
    for (std::size_t width = 1;; ++width) {
        const bool more = (value >> 7) != 0 || width < least_width;
        to.push_back(static_cast<std::uint8_t>((value & 0x7f) | (more ? 0x80 : 0)));
        value >>= 7;
        if (!more) return;
    }
}

void write_little_endian(Bytes& to, std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) {
        to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
}

std::vector<std::uint64_t> read_run(const Bytes& run, const wire::FieldRow& row) {
    std::vector<std::uint64_t> values;
    std::uint64_t value = 0;
    std::size_t width = 0;
    const bool varints = row.wire_type() == wire::WireType::varint;
    const std::size_t fixed = row.wire_type() == wire::WireType::fixed64 ? 8 : 4;
    for (const std::uint8_t byte : run) {
        if (varints && width < 10) {
            value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * width);
        } else if (!varints) {
            value |= static_cast<std::uint64_t>(byte) << (8 * width);
        }
        ++width;
        if (varints ? byte < 0x80 : width == fixed) {
            values.push_back(value);
            value = width = 0;
        }
    }
    return values;
}

void write_run_value(Bytes& run, std::uint64_t value, const wire::FieldRow& row) {
    switch (row.wire_type()) {
        case wire::WireType::fixed64: write_little_endian(run, value, 8); return;
        case wire::WireType::fixed32: write_little_endian(run, value, 4); return;
        default: write_varint(run, value);
    }
}

}  // namespace onnxmap::fuzz
