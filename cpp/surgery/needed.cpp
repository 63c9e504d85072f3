#include "surgery/needed.hpp"

#include <algorithm>
#include <utility>

#include "model/captured_values.hpp"
#include "model/default_graphs.hpp"
#include "onnx/operators.hpp"
#include "surgery/graph_parts.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

Needed::Needed(const model::Document& document, const Message& body, std::uint32_t depth_left,
               Of subgraphs, bool may_call)
    : document_(document),
      subgraphs_of_(subgraphs),
      may_call_(may_call),
      fields_(document.index(body)) {
    if (depth_left == 0) onnx::fail_too_deep(body);
    // A graph that is a default also uses values of the subgraphs that refer to it.
    if (is_function(body) && model::default_graph(body)) subgraphs_of_ = Of::all_nodes;
    read_nodes(depth_left);
    read_lists();
    if (is_function(body)) {
        read_defaults(depth_left);
    } else {
        read_annotations();
    }
}

std::uint32_t Needed::id_of(std::string_view name) {
    const std::uint32_t value = flow_.add(name);
    if (value == values_.size()) values_.emplace_back();
    return value;
}

std::uint32_t Needed::id_of(const Operator& called) {
    // Neighbours are often of one of a few operators, whose look-up is a comparison.
    for (const std::uint32_t i : recent_) {
        if (i < operators_.size() && operators_[i] == called) return i;
    }
    key_.clear();
    for (const std::string_view part : {called.domain, called.op_type, called.overload}) {
        const std::uint64_t length = part.size();  // no two operators have one key
        key_.append(reinterpret_cast<const char*>(&length), sizeof length);
        key_ += part;
    }
    const auto added = operator_keys_.add(key_);
    if (added.is_new) operators_.push_back(called);
    recent_[next_recent_++ % recent_.size()] = added.position;
    return added.position;
}

void Needed::read_nodes(std::uint32_t depth_left) {
    operator_of_.reserve(fields_->count(model::nodes_of(message())));
    flow_.read(*fields_, [&](const FlowTable::Node& node, const FlowTable::Use& use) {
        const std::string_view domain = onnx::plain_domain(node.domain);
        operator_of_.push_back(id_of(may_call_ ? Operator{domain, node.op_type, node.overload}
                                               : Operator{domain, {}, {}}));
        if (node.holds_graphs) read_subgraphs(node, depth_left, use);
    });
    flow_.check_makers();
    live_.resize(flow_.element_count());
    values_.resize(flow_.name_count());
}

void Needed::read_subgraphs(const FlowTable::Node& node, std::uint32_t depth_left,
                            const FlowTable::Use& use) {
    std::uint64_t ordinal = 0;
    for (const model::Attribute& attribute : model::Node(node.message).attributes()) {
        const std::uint64_t place = ordinal++;
        if (!attribute.may_hold_graph()) continue;
        const std::string_view name = attribute.name();  // once: it may have many graphs
        for_each_graph_of(attribute, [&](const Message& graph, std::string&& field) {
            subgraphs_.push_back({node.position, name, place, std::move(field),
                                  inner(graph, depth_left, subgraphs_of_, use)});
        });
    }
}

// A graph in this body. Calls use(name) for what it needs of the values around it.
std::unique_ptr<Needed> Needed::inner(const Message& graph, std::uint32_t depth_left, Of of,
                                      const FlowTable::Use& use) {
    auto made = std::make_unique<Needed>(document_, graph, depth_left - 1, of, may_call_);
    made->need_outputs();
    if (of == Of::all_nodes) made->need_all();
    made->find();
    made->for_each_captured(use);
    made->settle();
    return made;
}

// Graphs that are defaults of the attributes of a function take the places of references in its
// nodes: nothing goes from them.
void Needed::read_defaults(std::uint32_t depth_left) {
    fields_->for_each_child(field<"FunctionProto.attribute_proto">, [&](const Message& each) {
        const model::Attribute attribute(each);
        if (!attribute.may_hold_graph()) return;
        attribute.for_each_graph([&](const Message& graph) {
            defaults_.push_back(inner(graph, depth_left, Of::all_nodes, [&](std::string_view name) {
                const std::uint32_t value = id_of(name);
                need_id(value);
                return value;
            }));
        });
    });
}

// What makes values besides nodes.
void Needed::read_lists() {
    const auto hold = [&](std::string_view name, bool is_input) {
        if (name.empty()) return;
        Value& value = values_[id_of(name)];
        value.is_input = value.is_input || is_input;
        value.is_held = true;
    };
    if (is_function(message())) {
        fields_->for_each(field<"FunctionProto.input">,
                          [&](const wire::Field& each) { hold(each.text(), true); });
        return;
    }
    for (const wire::FieldRow* const list :
         {&field<"GraphProto.input">, &field<"GraphProto.initializer">,
          &field<"GraphProto.sparse_initializer">}) {
        fields_->for_each(*list, [&](const wire::Field& each) {
            model::for_each_made_by(message(), each, list, [&](std::string_view name, const auto&) {
                hold(name, list == &field<"GraphProto.input">);
            });
        });
    }
}

void Needed::read_annotations() {
    const wire::FieldRow& list = field<"GraphProto.quantization_annotation">;
    const wire::FieldRow& row = field<"TensorAnnotation.quant_parameter_tensor_names">;
    fields_->for_each_child(list, [&](const Message& annotation) {
        const std::string_view name = annotation.text(field<"TensorAnnotation.tensor_name">);
        const std::uint32_t value = id_of(name);
        // Of a value around this graph: the annotation stays, and needs it.
        if (!is_made_here(value) && !name.empty()) need_id(value);
        annotation.for_each_child(row, [&](const Message& entry) {
            const std::string_view parameter = entry.text(field<"StringStringEntryProto.value">);
            if (!parameter.empty()) parameters_.emplace_back(value, id_of(parameter));
        });
    });
    std::ranges::sort(parameters_);
}

void Needed::need_id(std::uint32_t value) {
    if (values_[value].is_needed) return;
    values_[value].is_needed = true;
    waiting_.push_back(value);
}

void Needed::need_outputs() {
    if (is_function(message())) {
        fields_->for_each(field<"FunctionProto.output">, [&](const wire::Field& each) {
            if (!each.bytes.empty()) need_id(id_of(each.text()));
        });
        return;
    }
    fields_->for_each_child(field<"GraphProto.output">, [&](const Message& each) {
        const auto name = each.text(field<"ValueInfoProto.name">);
        if (!name.empty()) need_id(id_of(name));
    });
}

void Needed::need_node(std::uint32_t node) {
    live_[node] = 1;
    flow_.for_each_used(node, [&](std::uint32_t value) { need_id(value); });
}

void Needed::need_all() {
    for (std::uint32_t node = 0; node < live_.size(); ++node) need_node(node);
    for (std::uint32_t value = 0; value < values_.size(); ++value) {
        if (values_[value].is_held) need_id(value);
    }
}

bool Needed::need(std::string_view value) {
    const auto known = flow_.find(value);
    if (known) need_id(*known);
    return known.has_value();
}

void Needed::give(std::string_view value) {
    const std::uint32_t given = id_of(value);
    flow_.set_maker(given, FlowTable::kNone);
    values_[given].is_held = false;
}

void Needed::find() {
    while (!waiting_.empty()) {
        const std::uint32_t value = waiting_.back();
        waiting_.pop_back();
        auto each = std::ranges::lower_bound(parameters_, std::pair(value, std::uint32_t{0}));
        for (; each != parameters_.end() && each->first == value; ++each) need_id(each->second);
        const std::uint32_t node = flow_.maker(value);
        if (node != FlowTable::kNone && live_[node] == 0) need_node(node);
    }
}

void Needed::settle() {
    FlowTable own;
    os::LargeVector<Value> values;
    for (std::uint32_t i = 0; i < values_.size(); ++i) {
        if (!is_made_here(i)) continue;
        own.set_maker(own.add(flow_.name(i)), flow_.maker(i));
        values.push_back(values_[i]);
    }
    flow_ = std::move(own);
    values_ = std::move(values);
    // Not `= {}`, which keeps the memory.
    parameters_ = decltype(parameters_)();
    waiting_ = decltype(waiting_)();
}

bool Needed::is_needed(std::string_view value) const {
    const auto known = flow_.find(value);
    return known && values_[*known].is_needed;
}

bool Needed::is_made(std::string_view value) const {
    const auto known = flow_.find(value);
    if (!known || !is_made_here(*known)) return false;
    const std::uint32_t node = flow_.maker(*known);
    return node == FlowTable::kNone ? values_[*known].is_input || values_[*known].is_needed
                                    : live_[node] != 0;
}

bool Needed::is_own(std::string_view value) const {
    const auto known = flow_.find(value);
    return known && is_made_here(*known);
}

bool Needed::is_input(std::string_view value) const {
    const auto known = flow_.find(value);
    return known && values_[*known].is_input;
}

}  // namespace onnxmap::surgery
