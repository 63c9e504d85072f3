#include "model/followed_uses.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "model/captured_values.hpp"
#include "model/document.hpp"
#include "model/flow_table.hpp"
#include "model/list_names.hpp"
#include "model/node.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

using onnx::field;
using onnx::message;
using onnx::Pieces;

namespace {

template <class... Fields>
Pieces::Rows rows_of(const wire::MessageTable& table, const Fields&... fields) {
    return (Pieces::rows(table, fields) | ...);
}

Pieces::Rows rows_of_node() {
    return rows_of(message<"NodeProto">, field<"NodeProto.input">, field<"NodeProto.output">,
                   field<"NodeProto.attribute">);
}

// The fields of a message in a subgraph, or around one, on which the uses of outer values depend.
Pieces::Rows rows_inside(const wire::MessageTable& table) {
    if (&table == &message<"NodeProto">) return rows_of_node();
    if (&table == &message<"GraphProto">) {
        return rows_of(table, field<"GraphProto.node">, field<"GraphProto.input">,
                       field<"GraphProto.output">, field<"GraphProto.initializer">,
                       field<"GraphProto.sparse_initializer">,
                       field<"GraphProto.quantization_annotation">);
    }
    if (&table == &message<"AttributeProto">) {
        return rows_of(table, field<"AttributeProto.name">, field<"AttributeProto.type">,
                       field<"AttributeProto.g">, field<"AttributeProto.graphs">,
                       field<"AttributeProto.ref_attr_name">);
    }
    if (&table == &message<"ValueInfoProto">) return rows_of(table, field<"ValueInfoProto.name">);
    if (&table == &message<"TensorProto">) return rows_of(table, field<"TensorProto.name">);
    if (&table == &message<"TensorAnnotation">) {
        return rows_of(table, field<"TensorAnnotation.tensor_name">,
                       field<"TensorAnnotation.quant_parameter_tensor_names">);
    }
    if (&table == &message<"StringStringEntryProto">) {
        return rows_of(table, field<"StringStringEntryProto.value">);
    }
    if (&table == &message<"SparseTensorProto">) {
        return rows_of(table, field<"SparseTensorProto.values">);
    }
    return 0;
}

// A look-up reads a node with fewer inputs again, to see which of them have the name.
constexpr std::uint32_t kManyInputs = 16;

// What messages inside of a node mention. `note(name)` notes a mention, and returns the number of
// the name.
template <class Note>
FollowedList::Inside find_inside(const onnx::Message& node, bool holds_graphs,
                                 std::uint32_t max_depth, const Note& note) {
    using Role = FollowedList::Inside::Role;
    FollowedList::Inside found{node.loaded(), holds_graphs, {node}, {}};
    const auto add = [&](std::string_view name, Role role, std::uint32_t index = 0) {
        const auto user = static_cast<std::uint32_t>(found.users.size() - 1);
        found.mentions.push_back({note(name), role, user, index});
    };
    const auto in = [&](const onnx::Message& user) {
        if (!found.users.back().is(user)) found.users.push_back(user);
    };
    CapturedUses outer(
        [&](std::string_view name, const onnx::Message& user, std::uint32_t index) {
            in(user);
            add(name, Role::use, index);
        },
        [&](std::string_view name) {
            if (!name.empty()) add(name, Role::made_inside);
        },
        [&](std::string_view name, const onnx::Message& holder, const wire::FieldRow&) {
            in(holder);
            add(name, Role::annotated);
        });
    outer.find_below(Node(node), max_depth);
    return found;
}

// Adds what the node itself uses, and keeps it all.
void keep(FollowedList::Inside inside, FollowedList::State& state) {
    using Mention = FollowedList::Inside::Mention;
    std::uint32_t index = 0;
    Node(inside.users.front()).for_each_input([&](std::string_view name) {
        if (!name.empty())
            inside.mentions.push_back(
                {*state.mentions.find(name), FollowedList::Inside::Role::use, 0, index});
        ++index;
    });
    std::ranges::sort(inside.mentions, {}, [](const Mention& each) {
        return std::tie(each.name, each.user, each.index);
    });
    state.inside.insert_or_assign(inside.loaded.data(), std::move(inside));
}

}  // namespace

FollowedUses::FollowedUses(const Document& document, const onnx::Message& body)
    : FollowedList(document, body, nodes_of(body), rows_of_node()) {}

std::unique_ptr<FollowedList::State> FollowedUses::read_list(
    const std::shared_ptr<const FieldIndex>& fields, NameTable::Text text) const {
    FlowTable flow(text);
    std::vector<Inside> inside;
    flow.read(*fields, [&](const FlowTable::Node& node, const FlowTable::Use& use) {
        if (!node.holds_graphs && node.inputs < kManyInputs) return;
        inside.push_back(
            find_inside(node.message, node.holds_graphs, document().limits().depth, use));
    });
    auto state = std::make_unique<State>(PresentMentions(std::move(flow), fields, list()));
    for (Inside& each : inside) keep(std::move(each), *state);
    return state;
}

void FollowedUses::read(const onnx::Message& element, State& state) const {
    const auto add = [&](std::string_view name, bool made) {
        if (!name.empty()) state.mentions.add(name, made);
    };
    std::uint32_t inputs = 0;
    bool holds_graphs = false;
    element.for_each_field([&](const wire::Field& each, const wire::FieldRow* row) {
        if (row == &field<"NodeProto.input">) {
            add(each.text(), false);
            ++inputs;
        } else if (row == &field<"NodeProto.output">) {
            add(each.text(), true);
        } else if (row == &field<"NodeProto.attribute">) {
            holds_graphs = holds_graphs || Attribute(element.inner(*row, each)).may_hold_graph();
        }
    });
    if (!holds_graphs && inputs < kManyInputs) return;
    keep(find_inside(element, holds_graphs, document().limits().depth,
                     [&](std::string_view name) { return state.mentions.add(name, false); }),
         state);
}

bool FollowedUses::changed_elsewhere(const EditStep& step, const State& state, Again& again) const {
    if ((step.rows & rows_inside(*step.table)) == 0) return true;
    if (step.table == &message<"AttributeProto">) {
        // It may be the first that holds a graph in its node, which nothing names.
        const onnx::Message attribute(*step.table, step.loaded, &document().edits());
        if (Attribute(attribute).may_hold_graph()) return false;
    }
    const auto behind = state.inside.upper_bound(step.key());
    if (behind != state.inside.begin()) {
        const Inside& inside = std::prev(behind)->second;
        if (step.key() <= inside.loaded.data() + inside.loaded.size()) {
            if (inside.holds_graphs) again.elements.emplace(inside.loaded.data(), inside.loaded);
            return true;
        }
    }
    // A field that was added may be in any of them.
    again.all_with_graphs = again.all_with_graphs || document().edits().is_added(step.key());
    return true;
}

namespace {

// Calls visit(user, index) for each mention of a value in a node.
template <class Visit>
void for_each_in(const FollowedList::Inside& inside, std::uint32_t value,
                 FollowedList::Inside::Role role, Visit&& visit) {
    const auto found =
        std::ranges::equal_range(inside.mentions, value, {}, &FollowedList::Inside::Mention::name);
    for (const auto& mention : found) {
        if (mention.role == role) visit(inside.users[mention.user], mention.index);
    }
}

}  // namespace

// Calls visit(user, index) for the mentions of a value in nodes that have an Inside.
template <class Visit>
void FollowedUses::for_each_inside(std::string_view value, Inside::Role role, Visit&& visit) {
    look([&](const State& now) {
        const auto known = now.mentions.find(value);
        if (!known || now.inside.empty()) return;
        now.mentions.for_each_user(*known, [&](ByteView loaded) {
            const auto inside = now.inside.find(loaded.data());
            if (inside != now.inside.end()) for_each_in(inside->second, *known, role, visit);
        });
    });
}

// Calls visit(UserOfValue) for each use of a value; those of one node are in order.
template <class Visit>
void FollowedUses::for_each_use(std::string_view value, Visit&& visit) {
    look([&](const State& now) {
        const auto known = now.mentions.find(value);
        if (!known) return;
        now.mentions.for_each_user(*known, [&](ByteView loaded) {
            const auto add = [&](const onnx::Message& user, std::uint32_t index) {
                visit(UserOfValue{user.current(), index, loaded.data()});
            };
            const auto inside = now.inside.find(loaded.data());
            if (inside != now.inside.end())
                return for_each_in(inside->second, *known, Inside::Role::use, add);
            const Node node(element(loaded));
            std::uint32_t index = 0;
            node.for_each_input([&](std::string_view input) {
                if (input == value) add(node.message(), index);
                ++index;
            });
        });
    });
}

// Calls visit(loaded) for each time that a node makes a value, until it returns false.
template <class Visit>
void FollowedUses::for_each_maker(std::string_view value, Visit&& visit) {
    look([&](const State& now) {
        if (const auto known = now.mentions.find(value)) now.mentions.for_each_maker(*known, visit);
    });
}

std::optional<onnx::Message> FollowedUses::producer(std::string_view value) {
    std::uint32_t count = 0;
    ByteView node;
    for_each_maker(value, [&](ByteView loaded) {
        if (count++ == 0) node = loaded;
        return count < 2;
    });
    if (count > 1) throw duplicate_name("node output", value, "look for it in node_outputs()");
    if (count == 0) return std::nullopt;
    return element(node);
}

bool FollowedUses::is_made(std::string_view value) {
    bool found = false;
    for_each_maker(value, [&](ByteView) {
        found = true;
        return false;
    });
    return found;
}

bool FollowedUses::is_made_inside(std::string_view value) {
    bool found = false;
    for_each_inside(value, Inside::Role::made_inside, [&](auto&&...) { found = true; });
    return found;
}

bool FollowedUses::is_used(std::string_view value) {
    bool found = false;
    for_each_use(value, [&](auto&&...) { found = true; });
    return found;
}

std::vector<onnx::Message> FollowedUses::annotations(std::string_view value) {
    std::vector<onnx::Message> found;
    for_each_inside(value, Inside::Role::annotated,
                    [&](const onnx::Message& holder, auto) { found.push_back(holder); });
    return found;
}

std::vector<UserOfValue> FollowedUses::uses(std::string_view value, const FieldIndex& graph) {
    std::vector<std::pair<std::uint64_t, UserOfValue>> found;  // by the ordinals of their nodes
    for_each_use(value, [&](UserOfValue&& user) { found.emplace_back(0, std::move(user)); });
    if (found.size() > 1 && document().was_edited()) {
        std::vector<const std::uint8_t*> nodes;
        nodes.reserve(found.size());
        for (const auto& [ordinal, user] : found) nodes.push_back(user.holder);
        const auto ordinals = graph.ordinals(list(), nodes);
        for (std::size_t i = 0; i < found.size(); ++i) found[i].first = ordinals[i];
        std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
    }
    std::vector<UserOfValue> users;
    users.reserve(found.size());
    for (auto& [ordinal, user] : found) users.push_back(std::move(user));
    return users;
}

}  // namespace onnxmap::model
