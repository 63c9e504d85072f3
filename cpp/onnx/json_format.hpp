// Protobuf's JSON of a message, as `google.protobuf.json_format` and Python's `json.dumps` write
// it. Source: protobuf.dev/programming-guides/json.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "onnx/message.hpp"
#include "onnx/text_format.hpp"

namespace onnxmap::onnx {

struct JsonOptions {
    /// Limits, and how bytes are read. A value that is longer than `text.longest` (bytes,
    /// characters or numbers) becomes an object with its length and its first part. Text of more
    /// than `text.max_bytes` is an Error `limit.text_bytes`.
    TextOptions text = {};
    /// Whether fields have the names of onnx.proto; otherwise lowerCamelCase.
    bool proto_names = false;
    /// Spaces for each level of nesting; without it, everything is on one line.
    std::optional<std::uint32_t> indent = {};
    /// Bytes that count for each element of a list besides its text, for callers that make objects
    /// of the text.
    std::uint64_t element_nbytes = 0;
};

/// Passes the message to `write`. Throws what write_text() throws.
void write_json(const Message& message, const JsonOptions& options, const WriteText& write);

/// Passes the value of one field to `write`: all values of a repeated field, or one of them.
void write_json(const Message& message, const wire::FieldRow& row,
                std::optional<std::uint64_t> index, const JsonOptions& options,
                const WriteText& write);

}  // namespace onnxmap::onnx
