// The content of protobuf's descriptors as plain constant data: messages, fields, enums. The rows
// are in onnx/schema_rows.hpp; everything here applies to any proto2 file.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <span>
#include <string_view>

#include "wire/tag.hpp"

namespace onnxmap::wire {

enum class Label : std::uint8_t { optional, repeated };

enum class Type : std::uint8_t {
    int64,
    int32,
    uint64,
    float32,
    float64,
    string,
    bytes,
    enumeration,
    message,
};

struct EnumValue {
    std::string_view name;
    std::int32_t number;
};

struct EnumTable {
    std::string_view name;
    std::span<const EnumValue> values;

    /// proto2 enums are closed: a value that is not listed is an unknown field.
    [[nodiscard]] constexpr const EnumValue* find(std::int32_t number) const noexcept {
        for (const EnumValue& value : values) {
            if (value.number == number) return &value;
        }
        return nullptr;
    }
};

struct FieldRow {
    std::uint32_t number = 0;
    std::string_view name;
    Label label = Label::optional;
    Type type = Type::int64;
    std::string_view type_name = {};  // of a message or enum
    std::string_view oneof = {};      // the oneof that it is a member of, or empty
    bool packed = false;              // how it is written; both forms are read
    bool retired = false;             // gone from today's proto: read by name, otherwise unknown
    std::uint8_t type_index = 0;      // of `type_name` in the Schema; filled in by the builder

    [[nodiscard]] constexpr bool repeated() const noexcept { return label == Label::repeated; }
    [[nodiscard]] constexpr bool is_text() const noexcept {
        return type == Type::string || type == Type::bytes;
    }
    [[nodiscard]] constexpr bool is_message() const noexcept { return type == Type::message; }
    [[nodiscard]] constexpr bool packable() const noexcept {
        return repeated() && !is_text() && !is_message();
    }
    /// The wire type of one value.
    [[nodiscard]] constexpr WireType wire_type() const noexcept {
        switch (type) {
            case Type::float32: return WireType::fixed32;
            case Type::float64: return WireType::fixed64;
            case Type::string:
            case Type::bytes:
            case Type::message: return WireType::length_delimited;
            default: return WireType::varint;
        }
    }
    /// Whether a field with this wire type belongs to this row; otherwise it is unknown.
    [[nodiscard]] constexpr bool accepts(WireType wire) const noexcept {
        return wire == wire_type() || (wire == WireType::length_delimited && packable());
    }
};

/// What the load pass may do with a field whose tag is one byte, decided from the tag alone.
enum class Quick : std::uint8_t { no, skip_varint, skip_length };

struct MessageTable {
    static constexpr std::uint32_t kMaxNumber = 31;
    static constexpr std::uint8_t kNone = 0xff;

    std::string_view name;             // without the package: TensorProto.Segment
    std::span<const FieldRow> fields;  // in the order of the .proto file
    std::array<std::uint8_t, kMaxNumber + 1> position{};  // of a field number in `fields`

    std::array<Quick, 128> quick{};  // by tag

    [[nodiscard]] constexpr const FieldRow* find(std::uint32_t number) const noexcept {
        if (number > kMaxNumber || position[number] == kNone) return nullptr;
        return &fields[position[number]];
    }
    /// Where a row of this table, and of no other, is in `fields`.
    [[nodiscard]] std::uint8_t position_of(const FieldRow& row) const noexcept {
        const std::uint8_t found = position[row.number];
        assert(found != kNone && &fields[found] == &row);
        return found;
    }
    [[nodiscard]] constexpr const FieldRow* find(std::string_view field) const noexcept {
        for (const FieldRow& row : fields) {
            if (row.name == field) return &row;
        }
        return nullptr;
    }
};

/// Varints, and length-delimited fields without inner structure: text, bytes, unknown fields.
[[nodiscard]] consteval Quick quick_for(const MessageTable& table, std::uint8_t tag) noexcept {
    const std::uint32_t number = tag >> 3;
    if (number == 0) return Quick::no;
    const auto type = static_cast<WireType>(tag & 7);
    if (type == WireType::varint) return Quick::skip_varint;
    // Does not use find(): under -fsanitize=undefined, gcc 12 cannot compare a pointer with null at
    // compile time.
    const std::uint8_t position = table.position[number];
    const bool plain = position == MessageTable::kNone || !table.fields[position].accepts(type) ||
                       table.fields[position].is_text();
    return type == WireType::length_delimited && plain ? Quick::skip_length : Quick::no;
}

struct Schema {
    std::span<const MessageTable> messages;
    std::span<const EnumTable> enums;

    [[nodiscard]] constexpr const MessageTable& message_of(const FieldRow& row) const noexcept {
        return messages[row.type_index];
    }
    [[nodiscard]] constexpr const EnumTable& enum_of(const FieldRow& row) const noexcept {
        return enums[row.type_index];
    }
};

}  // namespace onnxmap::wire
