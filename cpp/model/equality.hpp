// Equality of messages by content.
#pragma once

#include "model/document.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

/// Whether two messages are equal as for protobuf's upb: they have the same type, the same fields
/// are present, and the values are equal. Floats are compared by their bits: NaN equals the same
/// NaN, and 0.0 differs from -0.0. The order of different fields and the form in which values are
/// stored do not matter. Unknown fields must be the same, too. Throws Error `file.changed`,
/// FileError.
[[nodiscard]] bool equal(const Document& of_a, const onnx::Message& a, const Document& of_b,
                         const onnx::Message& b);

}  // namespace onnxmap::model
