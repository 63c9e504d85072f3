// The names that a graph makes, and the uses of those that it does not: subgraphs see the values of
// the graphs around them.
// Source: ONNX's IR.md, "Value names" and "Graphs".
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
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

/// Calls visit(holder, field) for each field of a quantization annotation that names a value: the
/// one that it describes, and its parameters.
template <class Visit>
void for_each_annotated(const onnx::Message& annotation, Visit&& visit) {
    visit(annotation, onnx::field<"TensorAnnotation.tensor_name">);
    annotation.for_each_child(onnx::field<"TensorAnnotation.quant_parameter_tensor_names">,
                              [&](const onnx::Message& entry) {
                                  visit(entry, onnx::field<"StringStringEntryProto.value">);
                              });
}

/// Finds uses of values that no subgraph around the use makes.
class CapturedUses {
  public:
    /// Gets a NodeProto that has the value as its input `index`, or a GraphProto that has it as an
    /// output.
    using VisitUse =
        std::function<void(std::string_view name, const onnx::Message& user, std::uint32_t index)>;
    /// Gets each name that a subgraph makes, before the uses in that subgraph.
    using VisitMade = std::function<void(std::string_view name)>;
    /// Gets each name in a quantization annotation, and the message and its field that have the
    /// name.
    using VisitAnnotated = std::function<void(std::string_view name, const onnx::Message& holder,
                                              const wire::FieldRow& row)>;

    /// Each may be empty.
    explicit CapturedUses(VisitUse visit_use, VisitMade visit_made = {},
                          VisitAnnotated visit_annotated = {});

    /// In a graph, whose own values count as well, and in its subgraphs: node by node, then the
    /// outputs and the annotations of the graph. Throws what onnx::fail_too_deep throws if more
    /// than `depth_left` graphs are nested in it.
    void find_in(const onnx::Message& graph, std::uint32_t depth_left);

    /// Among the inputs of a node, and in its subgraphs.
    void find_in_node(const Node& node, std::uint32_t depth_left);

    /// In all subgraphs of a node.
    void find_below(const Node& node, std::uint32_t depth_left);

    /// In a graph whose own values hide those around it.
    void find_in_subgraph(const onnx::Message& graph, std::uint32_t depth_left);

  private:
    std::uint32_t enter(std::string_view name);
    [[nodiscard]] bool is_captured(std::string_view name) const;
    void use(std::string_view name, const onnx::Message& user, std::uint32_t index) const;
    void find_annotated(const onnx::Message& graph) const;

    VisitUse visit_use_;
    VisitMade visit_made_;
    VisitAnnotated visit_annotated_;
    NameTable names_;
    std::vector<std::uint32_t> makers_;  // of each name: how many graphs around here make it
};

}  // namespace onnxmap::model
