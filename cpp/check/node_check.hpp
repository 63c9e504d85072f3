// The rules of a node by itself: its operator, its attributes and its names. NodeListCheck knows
// the values that it uses.
#pragma once

#include <cstdint>
#include <optional>

#include "check/checking.hpp"
#include "check/node_list_check.hpp"
#include "check/node_parts.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

/// What the checks of its values need to know of a node.
struct NodeFacts {
    std::optional<onnx::Operator> known = {};    // its operator, if ONNX describes it
    std::uint16_t shape_rule = 0;                // of the operator
    std::optional<std::uint32_t> function = {};  // the position of the function that it calls
    onnx::ValueType decided = {};                // of the first output, if an attribute decides it
    bool is_not_described = false;               // whether nobody describes the operator
    bool is_nested = false;  // whether an attribute holds messages, which check_nested() is for
};

/// `parts`: those of the node. Changes nothing but `findings`.
NodeFacts check_node_alone(const Checking& checking, Findings& findings, const onnx::Message& node,
                           const NodeParts& parts, const FieldPath& path, const Owner& owner);

/// The tensors, types and subgraphs in the attributes of a node in `body`.
void check_nested(Checking& checking, const onnx::Message& node, const FieldPath& path,
                  NodeListCheck& body);

}  // namespace onnxmap::check
