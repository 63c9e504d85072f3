// Removes what no output of the model needs.
#pragma once

#include <string>
#include <vector>

#include "model/document.hpp"

namespace onnxmap::surgery {

/// What went: the places of nodes, as they were before, and the names of the rest.
struct Pruned {
    std::vector<std::string> nodes;
    std::vector<std::string> initializers;
    std::vector<std::string> value_infos;
    std::vector<std::string> functions;      // domain::name, and :overload if there is one
    std::vector<std::string> opset_imports;  // their domains
};

/// Removes nodes, initializers, value infos, annotations, functions and imports that nothing needs,
/// from all graphs and functions. Inputs and outputs stay, with the initializers that are defaults
/// of inputs. Before the first edit, throws what Needed throws, and Error `model.no_graph`.
Pruned prune(const model::Document& document);

}  // namespace onnxmap::surgery
