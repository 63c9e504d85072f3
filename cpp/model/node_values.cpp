#include "model/node_values.hpp"

#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/flow_table.hpp"
#include "model/list_names.hpp"
#include "model/message_list.hpp"
#include "model/named_list.hpp"
#include "model/node.hpp"
#include "model/training_uses.hpp"
#include "onnx/schema.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

using FieldsPtr = std::shared_ptr<const FieldIndex>;

// The ValueInfoProto of a value in the lists of one graph or function.
std::optional<onnx::Message> info_in(const Document& document, const FieldsPtr& fields,
                                     std::string_view name) {
    const auto find = [&](const wire::FieldRow& row) -> std::optional<onnx::Message> {
        const MessageList list(fields, row);
        const auto position = list.position(document, name);
        return position ? std::optional(list.at(*position)) : std::nullopt;
    };
    if (is_function(fields->message())) return find(field<"FunctionProto.value_info">);
    auto found = find(field<"GraphProto.input">);
    if (!found) found = find(field<"GraphProto.output">);
    return found ? found : find(field<"GraphProto.value_info">);
}

// Whether a graph or function gets a value from outside, or holds it.
bool has_input(const Document& document, const FieldsPtr& fields, std::string_view name) {
    const onnx::Message& body = fields->message();
    bool found = false;
    if (is_function(body)) {
        fields->for_each(field<"FunctionProto.input">,
                         [&](const wire::Field& each) { found = found || each.text() == name; });
        return found;
    }
    for (const wire::FieldRow* row :
         {&field<"GraphProto.input">, &field<"GraphProto.initializer">}) {
        if (MessageList(fields, *row).contains(document, name)) return true;
    }
    const wire::FieldRow& sparse = field<"GraphProto.sparse_initializer">;
    fields->for_each(sparse, [&](const wire::Field& each) {
        for_each_made_by(body, each, &sparse, [&](std::string_view made, const onnx::Message&) {
            found = found || made == name;
        });
    });
    return found;
}

}  // namespace

bool NodeValues::makes(std::string_view value) const {
    return uses()->producer(value).has_value() || has_input(document(), fields_, value);
}

bool NodeValues::is_made_around(std::string_view value) const {
    auto outer = document().outer_scope(fields()->message());
    for (; outer; outer = document().outer_scope(outer->body)) {
        if (has_input(document(), document().index(outer->body), value)) return true;
        if (document().followed_uses(outer->body)->is_made(value)) return true;
    }
    return false;
}

bool NodeValues::is_made_inside(std::string_view value) const {
    const onnx::Message& body = fields_->message();
    bool found = uses()->is_made_inside(value);
    CapturedUses captured({}, [&](std::string_view made) { found = found || made == value; });
    if (!found && !is_function(body)) {
        find_in_trainings(document(), body, captured, [](const onnx::Message&, const auto&) {});
    }
    return found;
}

onnx::Message NodeValues::node(std::uint64_t position) const {
    const wire::FieldRow& list = nodes_of(fields_->message());
    return fields_->message().inner(list, fields_->at(list, position));
}

std::optional<onnx::Message> NodeValues::producer(std::string_view value) const {
    auto found = uses()->producer(value);
    FieldsPtr fields = fields_;
    while (!found && !value.empty()) {
        const auto outer = document().outer_scope(fields->message());
        if (!outer || has_input(document(), fields, value)) break;
        // Kept by the document: the subgraphs share what is known of the graph around them.
        found = document().followed_uses(outer->body)->producer(value);
        fields = document().index(outer->body);
    }
    return found;
}

std::optional<onnx::Message> NodeValues::value(std::string_view name) const {
    FieldsPtr fields = fields_;
    auto found = info_in(document(), fields, name);
    while (!found && !name.empty()) {
        const auto outer = document().outer_scope(fields->message());
        if (!outer || has_input(document(), fields, name)) break;
        if (document().followed_uses(fields->message())->is_made(name)) break;
        fields = document().index(outer->body);
        found = info_in(document(), fields, name);
    }
    return found;
}

std::vector<UserOfValue> NodeValues::users(std::string_view value) const {
    const onnx::Message& body = fields_->message();
    auto found = uses()->uses(value, *fields_);
    if (value.empty()) return found;
    if (!is_function(body)) {
        const wire::FieldRow& outputs = field<"GraphProto.output">;
        const NamedList named(document(), *fields_, outputs, *naming_field(outputs));
        for (const std::uint64_t output : named.positions(value)) {
            found.push_back({body, static_cast<std::uint32_t>(output)});
        }
        return found;
    }
    std::uint32_t output = 0;
    fields_->for_each(field<"FunctionProto.output">, [&](const wire::Field& each) {
        if (each.text() == value) found.push_back({body, output});
        ++output;
    });
    return found;
}

std::vector<std::uint32_t> NodeValues::topological_order() const {
    TopologicalOrder found = source::guard_reads(document().source(), [&] {
        FlowTable flow;
        flow.read_all(*fields_, document().limits().depth);
        return flow.order();
    });
    if (!found.in_cycle) return std::move(found.nodes);
    const std::string path = (is_function(fields_->message()) ? "function.node[" : "graph.node[") +
                             std::to_string(*found.in_cycle) + "]";
    Error error("model.cycle",
                {path, " depends on its own output, so the nodes have no topological order"});
    error.path = path;
    throw error;
}

}  // namespace onnxmap::model
