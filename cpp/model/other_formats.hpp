// File formats that users confuse with ONNX models.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "wire/message_table.hpp"

namespace onnxmap::model {

/// The format of a file that is not an ONNX model, for an error text ("a Git LFS pointer"), or
/// empty.
[[nodiscard]] std::string_view recognize(ByteView head) noexcept;

/// The same, or which message of ONNX it is ("a model (onnxmap.load reads it)"), or "text".
[[nodiscard]] std::string_view looks_like(ByteView head);

/// The bytes of a file that why_not() and looks_like() need.
inline constexpr std::size_t kHeadBytes = 512;

/// Why a file that begins with `head` is no such message, for an error text: "this is not a tensor;
/// it looks like a model (onnxmap.load reads it)". Empty if it begins like one.
[[nodiscard]] std::string why_not(ByteView head, const wire::MessageTable& message);

/// The form of a model in text that a file begins with: "textproto", "json", or an empty text. It
/// begins with a field of ModelProto, and has no control characters, which nearly every binary
/// message has.
[[nodiscard]] std::string_view text_form_of_model(ByteView head);

}  // namespace onnxmap::model
