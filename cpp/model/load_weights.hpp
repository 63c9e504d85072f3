// Opens files of weights, such as safetensors, as models whose initializers are external data of
// these files.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

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

/// The metadata of a safetensors file; nothing if it is none. Throws Error `file.changed`, and
/// FileError.
[[nodiscard]] safetensors::Metadata safetensors_metadata(const source::Source& file);

/// Device, inode, size and time of modification in nanoseconds.
using FileState = std::array<std::uint64_t, 4>;

/// Opens a model whose external data are ranges of a local file of any kind, which it names by the
/// last part of `path`. Throws FileError, and Error `file.changed` if the file is not in that
/// state.
[[nodiscard]] std::shared_ptr<const Document> load_beside(const std::string& path,
                                                          std::shared_ptr<source::Source> model,
                                                          const FileState& state,
                                                          LoadOptions options);

}  // namespace onnxmap::model
