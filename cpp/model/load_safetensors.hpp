// Opens a safetensors file, or the index of a sharded checkpoint, as a model whose initializers are
// external data of these files.
#pragma once

#include <memory>
#include <string>

#include "model/document.hpp"
#include "source/source.hpp"

namespace onnxmap::model {

/// Opens a local file. Links in `path` are followed; `options` says which ones that lead to shards
/// are. Throws FileError; Error `model.safetensors`, `tensor.data_size` and `tensor.size_overflow`
/// for a file that is not valid; `ext.*` for shards.
[[nodiscard]] std::shared_ptr<const Document> load_safetensors(const std::string& path,
                                                               LoadOptions options);

/// Opens a file that is open already: the one at `location` in the folder of `options`.
[[nodiscard]] std::shared_ptr<const Document> load_safetensors(
    std::shared_ptr<const source::Source> file, const std::string& location, LoadOptions options);

}  // namespace onnxmap::model
