// The names that a graph makes, and the uses of those that it does not: subgraphs see the values of
// the graphs around them.
// Source: ONNX's IR.md, "Value names" and "Graphs".
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/name_table.hpp"
#include "model/node.hpp"
#include "onnx/message.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

/// Calls visit(name, maker) for each value that a field of a graph or function makes: an input, a
/// dense or sparse initializer, or a node. The maker is the message that the field holds; for an
/// input of a function, the function. Names may be empty and may repeat.
template <class Visit>
void for_each_made_by(const onnx::Message& graph, const wire::Field& element,
                      const wire::FieldRow* row, Visit&& visit) {
    using onnx::field;
    if (row == &field<"GraphProto.input">) {
        const onnx::Message input = graph.inner(*row, element);
        visit(input.text(field<"ValueInfoProto.name">), input);
    } else if (row == &field<"GraphProto.initializer">) {
        const onnx::Message tensor = graph.inner(*row, element);
        visit(tensor.text(field<"TensorProto.name">), tensor);
    } else if (row == &field<"GraphProto.sparse_initializer">) {
        const onnx::Message sparse = graph.inner(*row, element);
        const auto values = sparse.child(field<"SparseTensorProto.values">);
        if (values) visit(values->text(field<"TensorProto.name">), sparse);
    } else if (row == &field<"FunctionProto.input">) {
        visit(element.text(), graph);
    } else if (row == &field<"GraphProto.node"> || row == &field<"FunctionProto.node">) {
        const Node node(graph.inner(*row, element));
        node.for_each_output([&](std::string_view name) { visit(name, node.message()); });
    }
}

/// The same for all fields of a graph or function: for each value of its own, not for the values
/// of the graphs in it.
template <class Visit>
void for_each_made(const onnx::Message& graph, Visit&& visit) {
    graph.for_each_field([&](const wire::Field& element, const wire::FieldRow* row) {
        for_each_made_by(graph, element, row, visit);
    });
}

/// Takes no notice of a name.
struct IgnoreMade {
    void operator()(std::string_view /*name*/) const noexcept {}
};

/// Takes no notice of an annotation.
struct IgnoreAnnotated {
    void operator()(std::string_view /*name*/, const onnx::Message& /*holder*/,
                    const wire::FieldRow& /*row*/) const noexcept {}
};

/// Finds uses of values that no subgraph around the use makes. visit_use(name, user, index) gets a
/// NodeProto that has the value as its input `index`, or a GraphProto that has it as an output.
/// visit_made(name) gets each name that a subgraph makes, before the uses in that subgraph.
/// visit_annotated(name, holder, row) gets each name in a quantization annotation, and the message
/// and its field that have the name.
template <class VisitUse, class VisitMade = IgnoreMade, class VisitAnnotated = IgnoreAnnotated>
class CapturedUses {
  public:
    explicit CapturedUses(VisitUse visit_use, VisitMade visit_made = {},
                          VisitAnnotated visit_annotated = {})
        : visit_use_(std::move(visit_use)),
          visit_made_(std::move(visit_made)),
          visit_annotated_(std::move(visit_annotated)) {}

    /// In a graph, whose own values count as well, and in its subgraphs: node by node, then the
    /// outputs and the annotations of the graph. Throws what onnx::fail_too_deep throws if more
    /// than `depth_left` graphs are nested in it.
    void find_in(const onnx::Message& graph, std::uint32_t depth_left) {
        graph.for_each_value(kNodes, [&](const wire::Field& element) {
            find_in_node(Node(graph, kNodes, element), depth_left);
        });
        std::uint32_t index = 0;
        graph.for_each_value(kOutputs, [&](const wire::Field& element) {
            use(graph.inner(kOutputs, element).text(onnx::field<"ValueInfoProto.name">), graph,
                index++);
        });
        if constexpr (!std::is_same_v<VisitAnnotated, IgnoreAnnotated>) find_annotated(graph);
    }

    /// Among the inputs of a node, and in its subgraphs.
    void find_in_node(const Node& node, std::uint32_t depth_left) {
        std::uint32_t index = 0;
        node.for_each_input([&](std::string_view name) { use(name, node.message(), index++); });
        find_below(node, depth_left);
    }

    /// In all subgraphs of a node.
    void find_below(const Node& node, std::uint32_t depth_left) {
        node.for_each_subgraph(
            [&](const onnx::Message& graph) { find_in_subgraph(graph, depth_left); });
    }

    /// In a graph whose own values hide those around it.
    void find_in_subgraph(const onnx::Message& graph, std::uint32_t depth_left) {
        if (depth_left == 0) onnx::fail_too_deep(graph);
        std::vector<std::uint32_t> made;
        for_each_made(graph, [&](std::string_view name, const onnx::Message&) {
            visit_made_(name);
            made.push_back(enter(name));
        });
        find_in(graph, depth_left - 1);
        for (const std::uint32_t value : made) --makers_[value];
    }

  private:
    static constexpr const wire::FieldRow& kNodes = onnx::field<"GraphProto.node">;
    static constexpr const wire::FieldRow& kOutputs = onnx::field<"GraphProto.output">;
    static constexpr const wire::FieldRow& kAnnotations =
        onnx::field<"GraphProto.quantization_annotation">;
    static constexpr const wire::FieldRow& kParameters =
        onnx::field<"TensorAnnotation.quant_parameter_tensor_names">;

    std::uint32_t enter(std::string_view name) {
        const auto [position, is_new] = names_.add(name);
        if (is_new) makers_.push_back(0);
        ++makers_[position];
        return position;
    }

    [[nodiscard]] bool is_captured(std::string_view name) const {
        if (name.empty()) return false;
        const auto known = names_.find(name);
        return !known || makers_[*known] == 0;
    }

    void use(std::string_view name, const onnx::Message& user, std::uint32_t index) {
        if (is_captured(name)) visit_use_(name, user, index);
    }

    void find_annotated(const onnx::Message& graph) {
        const auto find_name = [&](const onnx::Message& holder, const wire::FieldRow& row) {
            if (is_captured(holder.text(row))) visit_annotated_(holder.text(row), holder, row);
        };
        graph.for_each_value(kAnnotations, [&](const wire::Field& element) {
            const onnx::Message annotation = graph.inner(kAnnotations, element);
            find_name(annotation, onnx::field<"TensorAnnotation.tensor_name">);
            annotation.for_each_value(kParameters, [&](const wire::Field& entry) {
                find_name(annotation.inner(kParameters, entry),
                          onnx::field<"StringStringEntryProto.value">);
            });
        });
    }

    VisitUse visit_use_;
    VisitMade visit_made_;
    VisitAnnotated visit_annotated_;
    NameTable names_;
    std::vector<std::uint32_t> makers_;  // of each name: how many graphs around here make it
};

}  // namespace onnxmap::model
