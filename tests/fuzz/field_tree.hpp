// A message as a tree of fields that a mutator can change. Any bytes can be read: what is not a
// field stays as raw bytes. A tree that nobody changed is written as the bytes that it was read
// from.
//
// The code shares only the table of ONNX's messages with cpp/wire. A fault of the reader therefore
// cannot keep an input from being made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wire/message_table.hpp"

namespace onnxmap::fuzz {

using Bytes = std::vector<std::uint8_t>;

struct Field {
    /// The first six have the number of their wire type; `message` is a length-delimited field
    /// whose content was read as fields.
    enum class Kind : std::uint8_t {
        varint = 0,
        fixed64 = 1,
        bytes = 2,
        group = 3,
        fixed32 = 5,
        message,
        raw,  // bytes without a tag
    };

    Kind kind = Kind::raw;
    std::uint64_t number = 0;
    std::uint64_t value = 0;                    // of varint, fixed64, fixed32
    Bytes bytes;                                // of bytes and raw
    std::vector<Field> fields;                  // of message and group
    const wire::MessageTable* table = nullptr;  // of a message that the schema knows

    // How it is written: the least number of bytes of the tag, and of the value or length.
    std::uint8_t tag_width = 0;
    std::uint8_t value_width = 0;
    std::int64_t length_error = 0;  // what the length says beyond the true one

    // The end of a group.
    bool closed = true;
    std::uint8_t end_width = 0;
    std::uint64_t end_number = 0;

    [[nodiscard]] bool has_length() const noexcept {
        return kind == Kind::bytes || kind == Kind::message;
    }
    [[nodiscard]] bool has_fields() const noexcept {
        return kind == Kind::message || kind == Kind::group;
    }
    [[nodiscard]] bool has_value() const noexcept {
        return kind == Kind::varint || kind == Kind::fixed64 || kind == Kind::fixed32;
    }
};

/// The fields of a message of type `table`. Without a table, and for unknown fields, the content
/// decides whether a length-delimited field is a message.
[[nodiscard]] std::vector<Field> read_fields(std::span<const std::uint8_t> bytes,
                                             const wire::MessageTable* table);

[[nodiscard]] Bytes write_fields(const std::vector<Field>& fields);

void write_varint(Bytes& to, std::uint64_t value, std::size_t least_width = 0);
void write_little_endian(Bytes& to, std::uint64_t value, std::size_t width);

/// The values of a packed run of the row's type. Bytes that are left over at the end are dropped.
[[nodiscard]] std::vector<std::uint64_t> read_run(const Bytes& run, const wire::FieldRow& row);
void write_run_value(Bytes& run, std::uint64_t value, const wire::FieldRow& row);

}  // namespace onnxmap::fuzz
