// Whether the file of a model was replaced since it was loaded. Its data files may then be new
// ones, too, in which the values have other places.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "os/folder.hpp"
#include "os/pooled_file.hpp"
#include "source/source.hpp"

namespace onnxmap::tensor {

/// Throws Error `file.changed` if `locator`, which led to the file of `model` when it was loaded,
/// leads to another file now, if a save is just replacing the file at `path`, or if the state of
/// the file has changed. A file that was moved or deleted is no error. `folders`: the root of the
/// data, and the folder that really holds the file if `path` is a link.
void check_not_replaced(const source::Source& model, const os::FileLocator& locator,
                        const std::string& path,
                        std::span<const std::shared_ptr<const os::Folder>> folders);

}  // namespace onnxmap::tensor
