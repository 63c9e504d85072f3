// Values of a graph or function take the place of others. The edits follow the uses into subgraphs
// and into the training information, as Renaming does.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/graph.hpp"
#include "model/node_values.hpp"

namespace onnxmap::surgery {

/// Lets all that uses the value `old` use `replacement` instead: nodes, subgraphs, parameters of
/// annotations, algorithms of training, and with `outputs` the outputs of the body and the bindings
/// of training. The node that makes `replacement` keeps its inputs. Before the first edit, throws
/// Error `edit.removed`, `model.duplicate_name`, and std::invalid_argument if `replacement` is a
/// value that does not exist here, comes too late, would be hidden, or is such an output already.
/// `new_place`: only checks it, for a new node at this place that is to make `replacement`.
void replace_uses(const model::NodeValues& body, std::string_view old, std::string_view replacement,
                  bool outputs, std::optional<std::uint64_t> new_place = std::nullopt);

/// Removes a node of the body: its first input takes the place of its output. If that is an output
/// of the body, it keeps its name, and what made the input makes it. Before the first edit, throws
/// Error `edit.removed`, and std::invalid_argument if the body would have other inputs or outputs.
void bypass(const model::NodeValues& body, const onnx::Message& node);

/// Makes a value an output of its graph, with the type that is known of it. Before the first edit,
/// throws Error `edit.removed`, and std::invalid_argument if it is no value of the graph, is an
/// output already, or is of the main graph and has no known type.
void add_output(const model::Graph& graph, std::string_view value);

}  // namespace onnxmap::surgery
