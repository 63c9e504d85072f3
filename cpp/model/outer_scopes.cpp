#include "model/outer_scopes.hpp"

#include "model/document.hpp"
#include "model/message_walk.hpp"
#include "model/node.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

using onnx::field;
using onnx::message;

OuterScopes::OuterScopes(const Document& document) : made_at_(document.edits().count()) {
    const onnx::Message root = document.root();
    if (document.is_model()) main_ = document.child(root, field<"ModelProto.graph">);
    enter(root, nullptr, nullptr, document.limits().depth + 1);
}

std::optional<OuterScope> OuterScopes::around(const onnx::Message& graph) const {
    const auto found = around_.find(graph.key());
    if (found == around_.end() || !found->second) return std::nullopt;
    return OuterScope{found->second->body.current(), found->second->holder};
}

void OuterScopes::enter(const onnx::Message& entered, const onnx::Message* scope,
                        const onnx::Message* holder, std::uint32_t depth_left) {
    if (depth_left == 0) onnx::fail_too_deep(entered);
    const bool is_graph = &entered.table() == &message<"GraphProto">;
    if (is_graph && entered.key() != nullptr) {
        auto& around = around_[entered.key()];
        if (scope != nullptr) {
            around = OuterScope{*scope, holder ? std::optional(*holder) : std::nullopt};
        }
    }
    const bool is_scope = is_graph || &entered.table() == &message<"FunctionProto">;
    const onnx::Message* const inner = is_scope ? &entered : scope;
    const onnx::Message* const node = is_scope ? nullptr : is_node(entered) ? &entered : holder;
    for (const wire::FieldRow& row : entered.table().fields) {
        if (!holds_graphs(row)) continue;
        if (row.repeated()) {
            entered.for_each_child(row, [&](const onnx::Message& value) {
                enter(value, inner, node, depth_left - 1);
            });
        } else if (const auto child = entered.child(row)) {
            const bool is_algorithm = &row == &field<"TrainingInfoProto.algorithm">;
            enter(*child, is_algorithm && main_ ? &*main_ : inner, node, depth_left - 1);
        }
    }
}

}  // namespace onnxmap::model
