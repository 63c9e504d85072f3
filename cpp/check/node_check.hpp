// The rules of a node by itself: its operator, its attributes and its names. NodeListCheck knows
// the values that it uses.
#pragma once

#include "check/checking.hpp"
#include "check/node_list_check.hpp"
#include "check/node_parts.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

/// `parts`: those of the node. Changes nothing but `findings`. Returns whether an attribute holds
/// messages, which check_nested() is for.
bool check_node_alone(const Checking& checking, Findings& findings, const onnx::Message& node,
                      const NodeParts& parts, const FieldPath& place, const Owner& owner);

/// The tensors, types and subgraphs in the attributes of a node in `body`.
void check_nested(Checking& checking, const onnx::Message& node, const FieldPath& place,
                  NodeListCheck& body);

}  // namespace onnxmap::check
