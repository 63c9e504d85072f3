// Constant nodes become initializers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/document.hpp"

namespace onnxmap::surgery {

/// Lets the tensors and numbers of Constant nodes be initializers of their graphs, from that many
/// bytes on. A constant stays if it is an output, if it is in a function (not in its subgraphs), or
/// if a subgraph also makes its name. Returns the names of the initializers. Before the first edit,
/// throws std::invalid_argument if the IR version has no initializers that are no inputs.
std::vector<std::string> lift_constants(const model::Document& document, std::uint64_t min_bytes);

}  // namespace onnxmap::surgery
