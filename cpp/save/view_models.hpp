// The metadata of a view, a small model that refers to the values of another file: which file that
// is, and its state.
#pragma once

#include <string>

#include "model/document.hpp"
#include "save/tensor_edits.hpp"

namespace onnxmap::save {

/// The file of which a model is a view, as its metadata name it; empty if it is none,
/// or no model.
[[nodiscard]] std::string viewed_file(const model::Document& model);

/// The metadata of a view of the model's own file, which has this location.
[[nodiscard]] TensorEdits::Metadata view_metadata(const model::Document& model,
                                                  const std::string& location);

}  // namespace onnxmap::save
