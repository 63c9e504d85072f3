#include "check/body.hpp"

#include <string>

#include "check/node_check.hpp"
#include "model/value_uses.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::check {

using onnx::field;

Body::Body(Checking& checking, const Place& place, const Owner& owner, const Around& around)
    : checking_(checking),
      place_(place),
      owner_(owner),
      outer_(around.graph),
      events_(checking.visible.names()),
      names_in_flight_(node_names_) {
    checking_.visible.enter(around.sees_outer, around.is_last);
}

Body::~Body() { checking_.visible.leave(); }

void Body::define(std::string_view name, Mark mark, const Place& place) {
    if (name.empty()) return;
    VisibleValues& visible = checking_.visible;
    const VisibleValues::Id id = visible.id(name);
    const bool is_new = (visible.here(id) & VisibleValues::kDefined) == 0;
    if (is_new && visible.is_from_outside(id)) {
        checking_.found(Rule::value_shadowed_input, place, [&] {
            return quoted(name) + " is also a value of a graph around this one";
        });
    } else if (!is_new && mark == Mark::is_input) {
        defined_again(id, place);
    }
    visible.mark(id, mark);
    checking_.check_identifier(name, place);
}

void Body::defined_again(VisibleValues::Id value, const Place& place) {
    checking_.found(Rule::value_repeated, place, [&] {
        return quoted(checking_.visible.names().name(value)) + " is defined a second time";
    });
}

void Body::settle() {
    events_.finish([&](const model::NameTable::Added& name, const Event& event) {
        happened(checking_.visible.known(name), event);
    });
}

void Body::happened(VisibleValues::Id value, const Event& event) {
    VisibleValues& visible = checking_.visible;
    if (!event.defines) {
        if (!visible.is_visible(value)) {
            unknown_.push_back({value, event.slot, event.node, event.title, nullptr});
        }
        return;
    }
    if (visible.is_visible(value) || checking_.wants(Rule::graph_identifier)) {
        const Place node{&place_, row_, event.node};
        const Place output{&node, &field<"NodeProto.output">, event.slot};
        const std::string_view name = visible.names().name(value);
        if (visible.is_from_outside(value)) {
            checking_.found(Rule::value_shadowed, output, [&] {
                return quoted(name) + " is also a value of a graph around this one";
            });
        } else if (visible.is_visible(value)) {
            defined_again(value, output);
        }
        checking_.check_identifier(name, output);
    }
    visible.mark(value, Mark::is_made);
}

void Body::check_nodes(const model::FieldIndex& fields, const wire::FieldRow& row) {
    row_ = &row;
    // Most nodes make one value and have a name. Memory that is left is not touched.
    const std::uint64_t likely = fields.likely_names(row);
    checking_.visible.reserve(likely);
    node_names_.reserve(likely);
    std::uint64_t index = 0;
    fields.for_each(row, [&](const wire::Field& element) {
        checking_.pages.looked_at({element.begin, 0});
        const Place place{&place_, row_, index++};
        check_node(fields.message().inner(row, element), place);
    });
    settle();
    const auto repeated = [&](const model::NameTable::Added& name, std::uint64_t node) {
        if (name.is_new) return;
        checking_.found(Rule::node_name_repeated, Place{&place_, row_, node}, [&] {
            return "another node before it has the name " + quoted(node_names_.name(name.position));
        });
    };
    names_in_flight_.finish(repeated);
    resolve(fields);
}

void Body::check_node(const onnx::Message& node, const Place& place) {
    parts_.read(node);
    if (!parts_.name.empty()) {
        names_in_flight_.add(
            parts_.name, place.index, [&](const model::NameTable::Added& name, std::uint64_t i) {
                if (name.is_new) return;
                checking_.found(Rule::node_name_repeated, Place{&place_, row_, i}, [&] {
                    return "another node before it has the name " +
                           quoted(node_names_.name(name.position));
                });
            });
    }
    const auto happens = [&](const model::NameTable::Added& name, const Event& event) {
        happened(checking_.visible.known(name), event);
    };
    const auto add = [&](const std::vector<std::string_view>& names, bool defines) {
        for (std::uint32_t slot = 0; slot < names.size(); ++slot) {
            if (names[slot].empty()) continue;
            events_.add(names[slot], {place.index, slot, defines, parts_.title()}, happens);
        }
    };
    add(parts_.inputs, false);
    check_node_alone(checking_, node, parts_, place, *this);
    add(parts_.outputs, true);
}

// What is used before it is defined here comes too late; the rest may be defined later by a graph
// around this one.
void Body::resolve(const model::FieldIndex& fields) {
    bool is_unsorted = false;
    for (Unknown& each : unknown_) {
        const std::string_view name = checking_.visible.names().name(each.value);
        const bool is_late = (checking_.visible.here(each.value) & Mark::is_made) != 0;
        if (!is_late && outer_ != nullptr) {
            if (each.body == nullptr) each.body = checking_.kept.keep(place_);
            outer_->unknown_.push_back(each);
            continue;
        }
        is_unsorted = is_unsorted || is_late;
        const Place node{each.body == nullptr ? &place_ : each.body,
                         each.body == nullptr ? row_ : &field<"GraphProto.node">, each.node};
        const Place input{&node, &field<"NodeProto.input">, each.slot};
        if (is_late) {
            checking_.found(Rule::value_unsorted, input, [&] {
                return "the node " + quoted(each.title) + " uses " + quoted(name) +
                       ", which a later node makes";
            });
        } else {
            checking_.found(Rule::value_undefined, input, [&] {
                return "the node " + quoted(each.title) + " uses " + quoted(name) +
                       ", which nothing defines";
            });
        }
    }
    unknown_.clear();
    if (is_unsorted && checking_.wants(Rule::value_cycle)) find_cycle(fields);
}

void Body::find_cycle(const model::FieldIndex& fields) {
    if (row_ != &field<"GraphProto.node">) return;
    const model::ValueUses uses(fields, checking_.document.limits().depth);
    const auto node = uses.node_in_cycle();
    if (!node) return;
    checking_.found(Rule::value_cycle, Place{&place_, row_, *node},
                    "the node depends on its own output");
}

}  // namespace onnxmap::check
