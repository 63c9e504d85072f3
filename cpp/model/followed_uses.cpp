#include "model/followed_uses.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "model/captured_values.hpp"
#include "model/document.hpp"
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

}  // namespace

FollowedUses::FollowedUses(const Document& document, const onnx::Message& body)
    : FollowedList(document, body, nodes_of(body), rows_of_node()) {}

void FollowedUses::read(const onnx::Message& element, Read& found) const {
    std::uint32_t input = 0;
    bool holds_graphs = false;
    element.for_each_field([&](const wire::Field& each, const wire::FieldRow* row) {
        if (row == &field<"NodeProto.input">) {
            const std::uint32_t index = input++;
            if (!each.bytes.empty())
                found.mentions.add(each.text(), {.index = index, .role = Mention::Role::use});
        } else if (row == &field<"NodeProto.output">) {
            if (!each.bytes.empty()) {
                found.mentions.add(each.text(), {.role = Mention::Role::output});
            }
        } else if (row == &field<"NodeProto.attribute">) {
            holds_graphs = holds_graphs || Attribute(element.inner(*row, each)).may_hold_graph();
        }
    });
    if (!holds_graphs) return;
    found.holders.emplace(element.key(), element.loaded());
    std::vector<onnx::Message>& users = found.inner_users[element.key()];
    const auto add = [&](std::string_view value, const onnx::Message& user, std::uint32_t index,
                         Mention::Role role) {
        if (users.empty() || !users.back().is(user)) users.push_back(user);
        const auto inner = static_cast<std::uint32_t>(users.size() - 1);
        found.mentions.add(value, {.index = index, .inner = inner, .role = role});
    };
    CapturedUses outer(
        [&](std::string_view value, const onnx::Message& user, std::uint32_t index) {
            add(value, user, index, Mention::Role::use);
        },
        [&](std::string_view value) {
            found.mentions.add(value, {.role = Mention::Role::made_inside});
        },
        [&](std::string_view value, const onnx::Message& holder, const wire::FieldRow&) {
            add(value, holder, 0, Mention::Role::annotated);
        });
    outer.find_below(Node(element), document().limits().depth);
}

bool FollowedUses::changed_elsewhere(const EditStep& step, Read& found) const {
    if ((step.rows & rows_inside(*step.table)) == 0) return true;
    if (step.table == &message<"AttributeProto">) {
        // It may be the first that holds a graph in its node, which nothing names.
        const onnx::Message attribute(*step.table, step.loaded, &document().edits());
        if (Attribute(attribute).may_hold_graph()) return false;
    }
    if (found.holders.empty()) return true;
    const auto behind = found.holders.upper_bound(step.key());
    if (behind != found.holders.begin()) {
        const ByteView bytes = std::prev(behind)->second;
        if (step.key() <= bytes.data() + bytes.size()) {
            reread_element(bytes, found);
            return true;
        }
    }
    if (!document().edits().is_added(step.key())) return true;
    // A field that was added may be in any of them.
    const auto holders = found.holders;
    for (const auto& [key, bytes] : holders) reread_element(bytes, found);
    return true;
}

std::optional<onnx::Message> FollowedUses::producer(std::string_view value) {
    std::uint32_t count = 0;
    ByteView node;
    look([&](const Read& now) {
        now.mentions.for_each(value, [&](const std::uint8_t* key, const Mention& mention) {
            if (mention.role == Mention::Role::output && count++ == 0)
                node = now.mentions.find(key)->loaded;
        });
    });
    if (count > 1) throw duplicate_name("node output", value, "look for it in node_outputs()");
    if (count == 0) return std::nullopt;
    return onnx::Message(message<"NodeProto">, node, &document().edits());
}

namespace {

struct Found {
    std::uint64_t node;  // its ordinal
    std::uint32_t order;
    std::uint32_t index;
    ByteView loaded;                     // of the node
    std::optional<onnx::Message> inner;  // the user, if it is in a subgraph
};

void find_ordinals(std::vector<Found>& uses, const FieldIndex& graph) {
    std::vector<const std::uint8_t*> keys;
    keys.reserve(uses.size());
    for (const Found& use : uses) keys.push_back(use.loaded.data());
    const auto ordinals = graph.ordinals(nodes_of(graph.message()), keys);
    for (std::size_t i = 0; i < uses.size(); ++i) uses[i].node = ordinals[i];
}

}  // namespace

bool FollowedUses::has(std::string_view value, Mention::Role role) {
    bool found = false;
    look([&](const Read& now) {
        now.mentions.for_each(value, [&](const std::uint8_t*, const Mention& mention) {
            found = found || mention.role == role;
        });
    });
    return found;
}

std::vector<onnx::Message> FollowedUses::annotations(std::string_view value) {
    std::vector<onnx::Message> found;
    look([&](const Read& now) {
        now.mentions.for_each(value, [&](const std::uint8_t* key, const Mention& mention) {
            if (mention.role != Mention::Role::annotated) return;
            found.push_back(now.inner_users.at(key)[mention.inner]);
        });
    });
    return found;
}

std::vector<UserOfValue> FollowedUses::uses(std::string_view value, const FieldIndex& graph) {
    std::vector<Found> uses;
    look([&](const Read& now) {
        now.mentions.for_each(value, [&](const std::uint8_t* key, const Mention& mention) {
            if (mention.role != Mention::Role::use) return;
            Found use{0, mention.order, mention.index, now.mentions.find(key)->loaded, {}};
            if (mention.inner != Mention::kNone) {
                use.inner = now.inner_users.at(key)[mention.inner];
            }
            uses.push_back(std::move(use));
        });
    });
    if (uses.size() > 1) {
        find_ordinals(uses, graph);
        std::ranges::sort(uses, {}, [](const Found& use) { return std::tie(use.node, use.order); });
    }
    std::vector<UserOfValue> users;
    users.reserve(uses.size());
    for (Found& use : uses) {
        users.push_back({use.inner
                             ? *std::move(use.inner)
                             : onnx::Message(message<"NodeProto">, use.loaded, &document().edits()),
                         use.index, use.loaded.data()});
    }
    return users;
}

}  // namespace onnxmap::model
