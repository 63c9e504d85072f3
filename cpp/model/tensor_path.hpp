// The path of a tensor in the model, for error texts about tensors without a name.
#pragma once

#include <cstdint>
#include <string>

#include "model/document.hpp"

namespace onnxmap::model {

/// The path from the root to the tensor whose message begins at `begin`, such as
/// `graph.node[3].attribute["value"].t`; empty for the root itself. The search only enters messages
/// that contain the tensor, so it is cheap in a large model. Throws Error `file.changed`.
[[nodiscard]] std::string tensor_path(const Document& document, const std::uint8_t* begin);

/// The same for a SparseTensorProto.
[[nodiscard]] std::string sparse_tensor_path(const Document& document, const std::uint8_t* begin);

/// The error with the tensor's path in its text, if the tensor has no name.
[[nodiscard]] Error with_tensor_path(const Error& error, const Document& document,
                                     const std::uint8_t* begin);

}  // namespace onnxmap::model
