// Opens files of weights, such as safetensors, as models whose initializers are external data of
// these files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/document.hpp"
#include "safetensors/header.hpp"
#include "source/source.hpp"

namespace onnxmap::model {

/// Opens a safetensors file, or the index of a sharded checkpoint. Links in `path` are followed;
/// `options` says which ones that lead to shards are. Throws FileError; Error `model.safetensors`,
/// `tensor.data_size` and `tensor.size_overflow` for a file that is not valid; `ext.*` for shards.
[[nodiscard]] std::shared_ptr<const Document> load_safetensors(const std::string& path,
                                                               LoadOptions options);

/// The same for a file that is open already: the one at `location` in the folder of `options`.
[[nodiscard]] std::shared_ptr<const Document> load_safetensors(
    const std::shared_ptr<const source::Source>& file, const std::string& location,
    LoadOptions options);

/// Opens a local file of any kind: `tensors` are ranges of it. Throws FileError, and
/// Error `ext.offset` if the file ends before one of them.
[[nodiscard]] std::shared_ptr<const Document> load_ranges(
    const std::string& path, const std::vector<safetensors::Entry>& tensors, LoadOptions options);

}  // namespace onnxmap::model
