// The elements of lists that only say how a model is stored.
#pragma once

#include "compare/field_values.hpp"
#include "model/document.hpp"

namespace onnxmap::compare {

/// Leaves out the further segments of a tensor, whose values are compared with the first one, and
/// the metadata of a view.
void drop_what_is_storage(const model::Document& document, const wire::FieldRow& list,
                          Elements& elements);

}  // namespace onnxmap::compare
