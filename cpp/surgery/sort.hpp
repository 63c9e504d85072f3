// The nodes of a model in an order in which it can run.
#pragma once

#include "model/document.hpp"

namespace onnxmap::surgery {

/// Puts the nodes of each graph and function behind those whose values they use; otherwise their
/// order stays. Before the first edit, throws Error `model.cycle`, whose text has the place of a
/// node in a cycle, and `model.duplicate_name` if several nodes make one value.
void sort(const model::Document& document);

}  // namespace onnxmap::surgery
