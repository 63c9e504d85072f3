// Whether the file of a model was replaced since it was loaded. Its data files may then be new
// ones, too, in which the values have other places.
#pragma once

#include "os/pooled_file.hpp"
#include "source/source.hpp"

namespace onnxmap::tensor {

/// Throws Error `file.changed` if `way`, which led to the file of `model` when it was loaded, leads
/// to another file now, if a save is just replacing that file, or if its state has changed. A file
/// that was moved or deleted is no error.
void check_not_replaced(const source::Source& model, const os::FileLocator& locator);

}  // namespace onnxmap::tensor
