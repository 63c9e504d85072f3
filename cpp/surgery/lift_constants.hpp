// Constant nodes become initializers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/document.hpp"

namespace onnxmap::surgery {

/// Lets the tensors and numbers of Constant nodes be initializers of their graphs, from that many
/// bytes on. Those that are outputs stay, those of functions (not of their subgraphs), and those
/// whose name a subgraph also makes. Returns their names. Before the first edit, throws
/// std::invalid_argument if the IR version has no initializers that are no inputs.
std::vector<std::string> lift_constants(const model::Document& document, std::uint64_t min_bytes);

}  // namespace onnxmap::surgery
