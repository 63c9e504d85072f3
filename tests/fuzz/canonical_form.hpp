// A message of a document written the way upb writes it after reading the same bytes: known fields
// by number in their least form, then the unknown fields as they stand in the file. Two readers
// that give the same canonical form agree on every value, on presence and on unknown bytes.
#pragma once

#include "fuzz/field_tree.hpp"
#include "model/document.hpp"

namespace onnxmap::fuzz {

/// Reads every field through the document, like `.proto`, so that a large message is read by its
/// index. Throws std::logic_error if two ways to the same field disagree.
[[nodiscard]] Bytes canonical_form(const model::Document& document);

}  // namespace onnxmap::fuzz
