// The fields of a NodeProto. A view of its bytes: reading a field walks over the node.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "model/attribute.hpp"
#include "onnx/message.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

/// Whether a message is a NodeProto.
[[nodiscard]] inline bool is_node(const onnx::Message& message) noexcept {
    return &message.table() == &onnx::message<"NodeProto">;
}

/// Whether a message is a FunctionProto.
[[nodiscard]] inline bool is_function(const onnx::Message& message) noexcept {
    return &message.table() == &onnx::message<"FunctionProto">;
}

/// The list of nodes of a GraphProto or a FunctionProto.
[[nodiscard]] inline const wire::FieldRow& nodes_of(const onnx::Message& body) noexcept {
    return is_function(body) ? onnx::field<"FunctionProto.node"> : onnx::field<"GraphProto.node">;
}

class Node {
  public:
    explicit Node(onnx::Message message) : message_(std::move(message)) {}
    /// The node that an element of a list holds. Loops over nodes feel the copy of a Message.
    Node(const onnx::Message& around, const wire::FieldRow& list, const wire::Field& element)
        : message_(around.inner(list, element)) {}

    [[nodiscard]] const onnx::Message& message() const noexcept { return message_; }

    [[nodiscard]] std::string_view name() const {
        return message_.text(onnx::field<"NodeProto.name">);
    }
    [[nodiscard]] std::string_view op_type() const {
        return message_.text(onnx::field<"NodeProto.op_type">);
    }
    [[nodiscard]] std::string_view domain() const {
        return message_.text(onnx::field<"NodeProto.domain">);
    }

    /// If a name is repeated, the last attribute counts, at the place of the first one.
    [[nodiscard]] std::vector<Attribute> attributes() const {
        return model::attributes(message_, onnx::field<"NodeProto.attribute">);
    }

    /// Calls visit(name) for each input in order; an omitted one has the empty name.
    template <class Visit>
    void for_each_input(Visit&& visit) const {
        for_each_text(onnx::field<"NodeProto.input">, visit);
    }

    /// The same for the outputs.
    template <class Visit>
    void for_each_output(Visit&& visit) const {
        for_each_text(onnx::field<"NodeProto.output">, visit);
    }

    /// Calls visit(graph) for each GraphProto that an attribute holds, in order.
    template <class Visit>
    void for_each_subgraph(Visit&& visit) const {
        if (!may_hold_graph()) return;
        for (const Attribute& each : attributes()) each.for_each_graph(visit);
    }

  private:
    [[nodiscard]] bool may_hold_graph() const {
        const wire::FieldRow& row = onnx::field<"NodeProto.attribute">;
        bool found = false;
        message_.for_each_child(row, [&](const onnx::Message& value) {
            found = found || Attribute(value).may_hold_graph();
        });
        return found;
    }

    template <class Visit>
    void for_each_text(const wire::FieldRow& row, Visit& visit) const {
        message_.for_each_value(row, [&](const wire::Field& value) { visit(value.text()); });
    }

    onnx::Message message_;
};

}  // namespace onnxmap::model
