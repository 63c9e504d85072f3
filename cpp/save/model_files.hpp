// Which files may be models, whatever they are called, and which data files they name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "os/output_folder.hpp"
#include "save/callbacks.hpp"

namespace onnxmap::save {

/// Whether a name ends with `.onnx`.
[[nodiscard]] bool is_named_as_model(std::string_view name);

/// Whether the file at `path` can be read as a model in binary form.
[[nodiscard]] bool is_model(const std::string& path);

/// Whether a file that cannot be read as a model may be one all the same.
[[nodiscard]] bool is_likely_model(const std::string& path);

/// The paths of the files that a model file names. It may be a text. Throws Failure if it is
/// no model, or cannot be read.
[[nodiscard]] std::vector<std::string> external_paths(const std::string& model,
                                                      const Callbacks& callbacks);

/// The names of `*.onnx` files in the folder at `path`, sorted. With `all_names`, also of other
/// regular files that may be models by how they begin, or that are models with data files.
[[nodiscard]] std::vector<std::string> names_of_models(const std::string& path, bool all_names,
                                                       const Callbacks& callbacks);

}  // namespace onnxmap::save
