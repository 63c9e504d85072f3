// The rules of a node by itself: its operator, its attributes and its names. Body knows the values
// that it uses.
#pragma once

#include "check/body.hpp"
#include "check/checking.hpp"
#include "check/node_parts.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

/// `parts`: those of the node. `body`: where it is; its values are looked at if the node has
/// subgraphs.
void check_node_alone(Checking& checking, const onnx::Message& node, const NodeParts& parts,
                      const Place& place, Body& body);

}  // namespace onnxmap::check
