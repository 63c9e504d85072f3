// A part of a model as a model of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/document.hpp"

namespace onnxmap::surgery {

/// A model of the nodes of the main graph that the outputs need if the inputs are given, with the
/// initializers, functions, imports and descriptions of these. Nothing is removed from subgraphs
/// and functions. Training information stays behind. Throws UnknownNames, std::invalid_argument if
/// a name repeats, an input is missing, a value has no known type or a subgraph that stays makes an
/// input, and what Needed throws.
[[nodiscard]] std::shared_ptr<const model::Document> extract(
    const std::shared_ptr<const model::Document>& document, const std::vector<std::string>& inputs,
    const std::vector<std::string>& outputs);

}  // namespace onnxmap::surgery
