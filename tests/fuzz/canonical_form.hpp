// Writes a message of a document like upb writes it after reading the same bytes: first the known
// fields, by number and in their shortest form, then the unknown fields as they stand in the file.
// Two readers with the same canonical form agree on every value, on presence and on unknown bytes.
#pragma once

#include "fuzz/field_tree.hpp"
#include "model/document.hpp"

namespace onnxmap::fuzz {

/// Returns the canonical form. Reads every field through the document, like `.proto`: a large
/// message is read by its index. Throws std::logic_error if two ways to the same field disagree.
[[nodiscard]] Bytes canonical_form(const model::Document& document);

/// The same of a message of the document.
[[nodiscard]] Bytes canonical_form(const model::Document& document, const onnx::Message& message);

}  // namespace onnxmap::fuzz
