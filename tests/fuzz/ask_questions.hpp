// Asks a document what users ask of a graph: names, neighbours, order, equality, hashes.
#pragma once

#include "model/document.hpp"

namespace onnxmap::fuzz {

/// Throws the Errors of the core. `constant`: the bytes do not change meanwhile; the answers are
/// then compared with each other.
void ask_questions(const model::Document& document, bool constant);

}  // namespace onnxmap::fuzz
