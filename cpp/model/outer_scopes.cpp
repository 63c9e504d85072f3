#include "model/outer_scopes.hpp"

#include "model/document.hpp"
#include "model/message_walk.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

using onnx::field;
using onnx::message;

OuterScopes::OuterScopes(const Document& document) : made_at_(document.edits().count()) {
    const onnx::Message root = document.root();
    if (document.is_model()) main_ = document.child(root, field<"ModelProto.graph">);
    enter(root, nullptr, document.limits().depth + 1);
}

std::optional<onnx::Message> OuterScopes::around(const onnx::Message& graph) const {
    const auto found = around_.find(graph.key());
    if (found == around_.end() || !found->second) return std::nullopt;
    return found->second->current();
}

void OuterScopes::enter(const onnx::Message& entered, const onnx::Message* scope,
                        std::uint32_t depth_left) {
    if (depth_left == 0) onnx::fail_too_deep(entered);
    const bool is_graph = &entered.table() == &message<"GraphProto">;
    if (is_graph && entered.key() != nullptr) {
        around_.emplace(entered.key(), scope == nullptr ? std::nullopt : std::optional(*scope));
    }
    const bool is_scope = is_graph || &entered.table() == &message<"FunctionProto">;
    const onnx::Message* const inner = is_scope ? &entered : scope;
    for (const wire::FieldRow& row : entered.table().fields) {
        if (!holds_graphs(row)) continue;
        if (row.repeated()) {
            entered.for_each_value(row, [&](const wire::Field& value) {
                enter(entered.inner(row, value), inner, depth_left - 1);
            });
        } else if (const auto child = entered.child(row)) {
            const bool is_algorithm = &row == &field<"TrainingInfoProto.algorithm">;
            enter(*child, is_algorithm && main_ ? &*main_ : inner, depth_left - 1);
        }
    }
}

}  // namespace onnxmap::model
