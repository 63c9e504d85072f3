#include "model/captured_values.hpp"

#include <utility>

namespace onnxmap::model {

using onnx::field;

CapturedUses::CapturedUses(VisitUse visit_use, VisitMade visit_made, VisitAnnotated visit_annotated)
    : visit_use_(std::move(visit_use)),
      visit_made_(std::move(visit_made)),
      visit_annotated_(std::move(visit_annotated)) {}

void CapturedUses::find_in(const onnx::Message& graph, std::uint32_t depth_left) {
    const wire::FieldRow& nodes = field<"GraphProto.node">;
    graph.for_each_value(nodes, [&](const wire::Field& element) {
        find_in_node(Node(graph, nodes, element), depth_left);
    });
    std::uint32_t index = 0;
    graph.for_each_child(field<"GraphProto.output">, [&](const onnx::Message& element) {
        use(element.text(field<"ValueInfoProto.name">), graph, index++);
    });
    if (visit_annotated_) find_annotated(graph);
}

void CapturedUses::find_in_node(const Node& node, std::uint32_t depth_left) {
    std::uint32_t index = 0;
    node.for_each_input([&](std::string_view name) { use(name, node.message(), index++); });
    find_below(node, depth_left);
}

void CapturedUses::find_below(const Node& node, std::uint32_t depth_left) {
    node.for_each_subgraph(
        [&](const onnx::Message& graph) { find_in_subgraph(graph, depth_left); });
}

void CapturedUses::find_in_subgraph(const onnx::Message& graph, std::uint32_t depth_left) {
    if (depth_left == 0) onnx::fail_too_deep(graph);
    std::vector<std::uint32_t> made;
    for_each_made(graph, [&](std::string_view name, const onnx::Message&) {
        if (visit_made_) visit_made_(name);
        made.push_back(enter(name));
    });
    find_in(graph, depth_left - 1);
    for (const std::uint32_t value : made) --makers_[value];
}

std::uint32_t CapturedUses::enter(std::string_view name) {
    const auto [position, is_new] = names_.add(name);
    if (is_new) makers_.push_back(0);
    ++makers_[position];
    return position;
}

bool CapturedUses::is_captured(std::string_view name) const {
    if (name.empty()) return false;
    const auto known = names_.find(name);
    return !known || makers_[*known] == 0;
}

void CapturedUses::use(std::string_view name, const onnx::Message& user,
                       std::uint32_t index) const {
    if (visit_use_ && is_captured(name)) visit_use_(name, user, index);
}

void CapturedUses::find_annotated(const onnx::Message& graph) const {
    graph.for_each_child(
        field<"GraphProto.quantization_annotation">, [&](const onnx::Message& annotation) {
            for_each_annotated(annotation, [&](const onnx::Message& holder, const auto& row) {
                if (is_captured(holder.text(row))) visit_annotated_(holder.text(row), holder, row);
            });
        });
}

}  // namespace onnxmap::model
