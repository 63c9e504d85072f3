// Protobuf's text format of a message, byte for byte as the official package prints it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "onnx/message.hpp"

namespace onnxmap::onnx {

struct TextOptions {
    /// Text, bytes and packed numbers longer than this are cut, and a comment says so.
    std::uint64_t longest = UINT64_MAX;
    /// The most bytes of text. Longer text is an Error `limit.text_bytes`.
    std::uint64_t max_bytes = UINT64_MAX;
    /// The deepest nesting below this message. Deeper nesting means that the bytes changed (Error
    /// `file.changed`), or that edits nested messages too deeply (Error `limit.depth`).
    std::uint32_t max_depth = wire::kDefaultDepth;
    /// Print unknown fields by their numbers, as protobuf does; but bytes always as a string, also
    /// if they may be a message.
    bool unknown_fields = false;
    /// Brings bytes into memory before they are read; valid until the next call.
    std::function<ByteView(ByteView)> resident = {};
};

/// Called with the text in parts of about 64 kB, which end between characters.
using WriteText = std::function<void(std::string_view)>;

/// Passes the message in text format to `write`. Throws Error `limit.text_bytes` and
/// `file.changed`, and what `write` throws.
void write_text(const Message& message, const TextOptions& options, const WriteText& write);

}  // namespace onnxmap::onnx
