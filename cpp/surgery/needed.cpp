#include "surgery/needed.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "model/captured_values.hpp"
#include "model/list_names.hpp"
#include "onnx/operators.hpp"
#include "surgery/graph_parts.hpp"

namespace onnxmap::surgery {

using onnx::field;
using onnx::Message;

Needed::Needed(const model::Document& document, const Message& body, std::uint32_t depth_left,
               Of subgraphs)
    : document_(document), subgraphs_of_(subgraphs), fields_(document.index(body)) {
    if (depth_left == 0) onnx::fail_too_deep(body);
    read_nodes(depth_left);
    read_lists();
    if (!is_function(body)) read_annotations();
}

std::uint32_t Needed::id_of(std::string_view name) {
    const auto added = names_.add(name);
    if (added.is_new) values_.emplace_back();
    return added.position;
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
    const wire::FieldRow& nodes = model::nodes_of(message());
    const std::uint64_t likely = fields_->likely_names(nodes);
    names_.reserve(likely);
    values_.reserve(likely);
    used_.reserve(3 * likely);
    const std::uint64_t count = fields_->count(nodes);
    if (count >= kHeld) throw std::length_error("more than 2^32 nodes in one graph");
    ends_.resize(count);
    live_.resize(count);
    std::uint32_t position = 0;
    fields_->for_each(nodes, [&](const wire::Field& element) {
        read_node(message().inner(nodes, element), position++, depth_left);
    });
    in_flight_.finish(Note{*this});
    for (std::uint64_t i = 1; i < count; ++i) ends_[i] = std::max(ends_[i], ends_[i - 1]);
}

void Needed::Note::operator()(const model::NameTable::Added& value, const Role& role) const {
    if (value.is_new) self.values_.emplace_back();
    if (!role.is_output) {
        self.used_.push_back(value.position);
        self.ends_[role.node] = static_cast<std::uint32_t>(self.used_.size());
        return;
    }
    std::uint32_t& maker = self.values_[value.position].maker;
    if (maker != kNone && maker != role.node) {
        throw model::duplicate_name("node output", self.names_.name(value.position),
                                    "look for it in node_outputs()");
    }
    maker = role.node;
}

void Needed::read_node(const Message& node, std::uint32_t position, std::uint32_t depth_left) {
    Operator called;
    bool holds_graphs = false;
    node.for_each_field([&](const wire::Field& found, const wire::FieldRow* row) {
        if (row == &field<"NodeProto.input"> || row == &field<"NodeProto.output">) {
            if (found.bytes.empty()) return;
            const bool is_output = row == &field<"NodeProto.output">;
            in_flight_.add(found.text(), {position, is_output}, Note{*this});
        } else if (row == &field<"NodeProto.op_type">) {
            called.op_type = found.text();
        } else if (row == &field<"NodeProto.domain">) {
            called.domain = onnx::plain_domain(found.text());
        } else if (row == &field<"NodeProto.overload">) {
            called.overload = found.text();
        } else if (row == &field<"NodeProto.attribute">) {
            holds_graphs =
                holds_graphs || model::Attribute(node.inner(*row, found)).may_hold_graph();
        }
    });
    operator_of_.push_back(id_of(called));
    if (holds_graphs) read_subgraphs(node, position, depth_left);
}

void Needed::read_subgraphs(const Message& node, std::uint32_t position, std::uint32_t depth_left) {
    const model::Node holder(node);
    std::uint64_t ordinal = 0;
    for (const model::Attribute& attribute : holder.attributes().entries) {
        const std::uint64_t place = ordinal++;
        std::uint64_t i = 0;
        attribute.for_each_graph([&](const Message& graph) {
            auto inner = std::make_unique<Needed>(document_, graph, depth_left - 1, subgraphs_of_);
            inner->need_outputs();
            if (subgraphs_of_ == Of::all_nodes) inner->need_all();
            inner->find();
            inner->for_each_captured([&](std::string_view name) {
                in_flight_.add(name, {position, false}, Note{*this});
            });
            inner->settle();
            const bool is_list = attribute.value_field() == &field<"AttributeProto.graphs">;
            subgraphs_.push_back({position, attribute.name(), place,
                                  is_list ? "graphs[" + std::to_string(i++) + "]" : "g",
                                  std::move(inner)});
        });
    }
}

// What makes values besides nodes.
void Needed::read_lists() {
    const auto hold = [&](std::string_view name, bool is_input) {
        if (name.empty()) return;
        Value& value = values_[id_of(name)];
        value.is_input = value.is_input || is_input;
        if (value.maker == kNone) value.maker = kHeld;
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
    fields_->for_each(list, [&](const wire::Field& element) {
        const Message annotation = message().inner(list, element);
        const std::string_view name = annotation.text(field<"TensorAnnotation.tensor_name">);
        const std::uint32_t value = id_of(name);
        // Of a value around this graph: the annotation stays, and needs it.
        if (values_[value].maker == kNone && !name.empty()) need_id(value);
        annotation.for_each_value(row, [&](const wire::Field& each) {
            const Message entry = annotation.inner(row, each);
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
    const wire::FieldRow& list = field<"GraphProto.output">;
    fields_->for_each(list, [&](const wire::Field& each) {
        const auto name = message().inner(list, each).text(field<"ValueInfoProto.name">);
        if (!name.empty()) need_id(id_of(name));
    });
}

void Needed::need_all() {
    for (std::uint32_t node = 0; node < live_.size(); ++node) {
        live_[node] = 1;
        for (std::uint32_t i = node == 0 ? 0 : ends_[node - 1]; i < ends_[node]; ++i)
            need_id(used_[i]);
    }
}

bool Needed::need(std::string_view value) {
    const auto known = names_.find(value);
    if (known) need_id(*known);
    return known.has_value();
}

void Needed::give(std::string_view value) { values_[id_of(value)].maker = kNone; }

void Needed::find() {
    while (!waiting_.empty()) {
        const std::uint32_t value = waiting_.back();
        waiting_.pop_back();
        auto each = std::ranges::lower_bound(parameters_, std::pair(value, std::uint32_t{0}));
        for (; each != parameters_.end() && each->first == value; ++each) need_id(each->second);
        const std::uint32_t node = values_[value].maker;
        if (node >= kHeld || live_[node] != 0) continue;
        live_[node] = 1;
        for (std::uint32_t i = node == 0 ? 0 : ends_[node - 1]; i < ends_[node]; ++i) {
            need_id(used_[i]);
        }
    }
}

void Needed::settle() {
    model::NameTable own;
    os::LargeVector<Value> values;
    for (std::uint32_t i = 0; i < names_.size(); ++i) {
        if (values_[i].maker == kNone) continue;
        own.add(names_.name(i));
        values.push_back(values_[i]);
    }
    names_ = std::move(own);
    values_ = std::move(values);
    // Not `= {}`, which keeps the memory.
    used_ = decltype(used_)();
    ends_ = decltype(ends_)();
    parameters_ = decltype(parameters_)();
    waiting_ = decltype(waiting_)();
}

bool Needed::is_needed(std::string_view value) const {
    const auto known = names_.find(value);
    return known && values_[*known].is_needed;
}

bool Needed::is_made(std::string_view value) const {
    const auto known = names_.find(value);
    if (!known || values_[*known].maker == kNone) return false;
    const std::uint32_t node = values_[*known].maker;
    return node == kHeld ? values_[*known].is_input || values_[*known].is_needed : live_[node] != 0;
}

bool Needed::is_own(std::string_view value) const {
    const auto known = names_.find(value);
    return known && values_[*known].maker != kNone;
}

bool Needed::is_input(std::string_view value) const {
    const auto known = names_.find(value);
    return known && values_[*known].is_input;
}

}  // namespace onnxmap::surgery
