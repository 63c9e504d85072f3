// Where in the model a tensor is, for messages about one that has no name.
#pragma once

#include <cstdint>
#include <string>

#include "model/document.hpp"

namespace onnxmap::model {

/// The path from the root of the tensor whose message begins at `begin`, like
/// `graph.node[3].attribute["value"].t`; empty for the root itself. Goes down only where the
/// tensor's bytes are, so it costs little in a large model. Throws Error `file.changed`.
[[nodiscard]] std::string tensor_path(const Document& document, const std::uint8_t* begin);

/// The same for a SparseTensorProto.
[[nodiscard]] std::string sparse_tensor_path(const Document& document, const std::uint8_t* begin);

/// The error of a tensor, which says its path where the tensor has no name.
[[nodiscard]] Error with_tensor_path(const Error& error, const Document& document,
                                     const std::uint8_t* begin);

}  // namespace onnxmap::model
