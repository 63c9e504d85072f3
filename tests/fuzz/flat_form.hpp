// Documents that a target edits, and the bytes that they become.
#pragma once

#include <memory>
#include <optional>

#include "fuzz/field_tree.hpp"
#include "model/document.hpp"

namespace onnxmap::fuzz {

using DocumentPtr = std::shared_ptr<const model::Document>;

/// Null if the bytes are no message of that type.
[[nodiscard]] DocumentPtr load_document(ByteView bytes, const wire::MessageTable& root);

/// The bytes of a message; nothing if edits nested messages too deeply.
[[nodiscard]] std::optional<Bytes> flat_form(const model::Document& document,
                                             const onnx::Message& message);

/// Ends the process if the flat form of a message means something else when it is loaded.
void compare_with_flat_form(const model::Document& document, const onnx::Message& message);

}  // namespace onnxmap::fuzz
