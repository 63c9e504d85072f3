// The number of parameters of a model.
#pragma once

#include <cstdint>

#include "model/document.hpp"

namespace onnxmap::model {

/// The number of elements of all initializers and Constant nodes of the graph and the functions of
/// a ModelProto, subgraphs included; UINT64_MAX if it is larger. Reads no values. A tensor whose
/// shape is invalid counts as 0, and a sparse one as its stored values. Throws Error `file.changed`
/// if graphs are nested too deep.
[[nodiscard]] std::uint64_t count_parameters(const Document& document);

}  // namespace onnxmap::model
