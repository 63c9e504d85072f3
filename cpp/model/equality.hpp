// Equality of messages by content.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// A text in which equal messages agree, and others mostly do not: the first output of a node,
/// since many nodes have no name, else a name or a key. Empty if they have none.
[[nodiscard]] std::string telling_text(const onnx::Message& message);

/// The positions of the messages of a list that have this telling_text(), ascending.
[[nodiscard]] std::vector<std::uint64_t> with_telling_text(const Document& document,
                                                           const FieldIndex& fields,
                                                           const wire::FieldRow& list,
                                                           std::string_view text);

}  // namespace onnxmap::model
