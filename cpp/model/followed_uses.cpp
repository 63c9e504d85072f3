#include "model/followed_uses.hpp"

#include <algorithm>
#include <iterator>
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

// What the messages in a node mention, before the names have numbers.
struct FoundInside {
    FollowedList::Inside inside;
    std::vector<std::string_view> names;  // of its mentions
};

FoundInside find_inside(const onnx::Message& node, std::uint32_t max_depth) {
    using Role = FollowedList::Inside::Role;
    FoundInside found;
    found.inside = {node.loaded(), {node}, {}};
    std::vector<onnx::Message>& users = found.inside.users;
    const auto add = [&](std::string_view name, Role role, const onnx::Message& user,
                         std::uint32_t index = 0) {
        if (role != Role::made_inside && !users.back().is(user)) users.push_back(user);
        const auto number = static_cast<std::uint32_t>(users.size() - 1);
        found.names.push_back(name);
        found.inside.mentions.push_back({0, role, number, index});
    };
    CapturedUses outer([&](std::string_view name, const onnx::Message& user,
                           std::uint32_t index) { add(name, Role::use, user, index); },
                       [&](std::string_view name) {
                           if (!name.empty()) add(name, Role::made_inside, node);
                       },
                       [&](std::string_view name, const onnx::Message& holder,
                           const wire::FieldRow&) { add(name, Role::annotated, holder); });
    outer.find_below(Node(node), max_depth);
    return found;
}

// Keeps it by the numbers that its names have now.
void keep(FoundInside&& found, FollowedList::State& state) {
    using Mention = FollowedList::Inside::Mention;
    for (std::size_t i = 0; i < found.names.size(); ++i)
        found.inside.mentions[i].name = *state.mentions.find(found.names[i]);
    std::ranges::stable_sort(found.inside.mentions, {}, &Mention::name);
    const auto* const key = found.inside.loaded.data();
    state.inside.insert_or_assign(key, std::move(found.inside));
}

}  // namespace

FollowedUses::FollowedUses(const Document& document, const onnx::Message& body)
    : FollowedList(document, body, nodes_of(body), rows_of_node()) {}

std::unique_ptr<FollowedList::State> FollowedUses::read_list(const FieldIndex& fields,
                                                             NameTable::Text text) const {
    FlowTable flow(text);
    std::vector<ByteView> loaded;
    loaded.reserve(fields.count(list()));
    std::vector<FoundInside> inside;
    flow.read(fields, [&](const FlowTable::Node& node, const FlowTable::Use& use) {
        loaded.push_back(node.message.loaded());
        if (!node.holds_graphs) return;
        inside.push_back(find_inside(node.message, document().limits().depth));
        for (const std::string_view name : inside.back().names) use(name);
    });
    auto state = std::make_unique<State>(PresentMentions(std::move(flow), std::move(loaded)));
    for (FoundInside& each : inside) keep(std::move(each), *state);
    return state;
}

void FollowedUses::read(const onnx::Message& element, State& state) const {
    const auto add = [&](std::string_view name, bool made) {
        if (!name.empty()) state.mentions.add(name, made);
    };
    bool holds_graphs = false;
    element.for_each_field([&](const wire::Field& each, const wire::FieldRow* row) {
        if (row == &field<"NodeProto.input">) {
            add(each.text(), false);
        } else if (row == &field<"NodeProto.output">) {
            add(each.text(), true);
        } else if (row == &field<"NodeProto.attribute">) {
            holds_graphs = holds_graphs || Attribute(element.inner(*row, each)).may_hold_graph();
        }
    });
    if (!holds_graphs) return;
    FoundInside inside = find_inside(element, document().limits().depth);
    for (const std::string_view name : inside.names) add(name, false);
    keep(std::move(inside), state);
}

bool FollowedUses::changed_elsewhere(const EditStep& step, State& state) const {
    if ((step.rows & rows_inside(*step.table)) == 0) return true;
    if (step.table == &message<"AttributeProto">) {
        // It may be the first that holds a graph in its node, which nothing names.
        const onnx::Message attribute(*step.table, step.loaded, &document().edits());
        if (Attribute(attribute).may_hold_graph()) return false;
    }
    if (state.inside.empty()) return true;
    const auto behind = state.inside.upper_bound(step.key());
    if (behind != state.inside.begin()) {
        const ByteView bytes = std::prev(behind)->second.loaded;
        if (step.key() <= bytes.data() + bytes.size()) {
            reread_element(bytes, state);
            return true;
        }
    }
    if (!document().edits().is_added(step.key())) return true;
    // A field that was added may be in any of them.
    std::vector<ByteView> holders;
    for (const auto& [key, inside] : state.inside) holders.push_back(inside.loaded);
    for (const ByteView each : holders) reread_element(each, state);
    return true;
}

namespace {

// Calls visit(user, index) for each mention of a value in messages inside of an element.
template <class Visit>
void for_each_of(const FollowedList::State& now, const std::uint8_t* element,
                 std::string_view value, FollowedList::Inside::Role role, Visit&& visit) {
    const auto known = now.inside.find(element);
    if (known == now.inside.end()) return;
    const auto& [loaded, users, mentions] = known->second;
    const auto found = std::ranges::equal_range(mentions, *now.mentions.find(value), {},
                                                &FollowedList::Inside::Mention::name);
    for (const auto& mention : found) {
        if (mention.role == role) visit(users[mention.user], mention.index);
    }
}

}  // namespace

// Calls visit(mention, inside) for the mentions of a value in messages inside of nodes.
template <class Visit>
void FollowedUses::for_each_inside(std::string_view value, Inside::Role role, Visit&& visit) {
    look([&](const State& now) {
        if (now.inside.empty()) return;
        const std::uint8_t* last = nullptr;
        now.mentions.for_each(value, [&](ByteView loaded, bool) {
            if (std::exchange(last, loaded.data()) == loaded.data()) return;
            for_each_of(now, loaded.data(), value, role, visit);
        });
    });
}

// Calls visit(UserOfValue) for each use of a value; those of one node are in order.
template <class Visit>
void FollowedUses::for_each_use(std::string_view value, Visit&& visit) {
    look([&](const State& now) {
        const std::uint8_t* last = nullptr;
        now.mentions.for_each(value, [&](ByteView loaded, bool made) {
            if (made || std::exchange(last, loaded.data()) == loaded.data()) return;
            const Node node(element(loaded));
            std::uint32_t index = 0;
            node.for_each_input([&](std::string_view input) {
                if (input == value) visit(UserOfValue{node.message(), index, loaded.data()});
                ++index;
            });
            for_each_of(now, loaded.data(), value, Inside::Role::use,
                        [&](const onnx::Message& user, std::uint32_t place) {
                            visit(UserOfValue{user, place, loaded.data()});
                        });
        });
    });
}

std::optional<onnx::Message> FollowedUses::producer(std::string_view value) {
    std::uint32_t count = 0;
    ByteView node;
    look([&](const State& now) {
        now.mentions.for_each(value, [&](ByteView loaded, bool made) {
            if (made && count++ == 0) node = loaded;
        });
    });
    if (count > 1) throw duplicate_name("node output", value, "look for it in node_outputs()");
    if (count == 0) return std::nullopt;
    return element(node);
}

bool FollowedUses::is_made(std::string_view value) {
    bool found = false;
    look([&](const State& now) {
        now.mentions.for_each(value, [&](ByteView, bool made) { found = found || made; });
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
