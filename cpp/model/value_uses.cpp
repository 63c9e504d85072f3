#include "model/value_uses.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "model/captured_values.hpp"
#include "model/list_names.hpp"
#include "model/node.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

using onnx::field;

// Reads the nodes one by one.
class ValueUses::Collector {
  public:
    Collector(ValueUses& self, std::uint32_t max_depth) : self_(self), max_depth_(max_depth) {}

    void reserve(std::uint64_t uses) { found_.reserve(uses); }

    void add_node(const onnx::Message& node) {
        const std::uint32_t position = self_.node_count_++;
        if (position >= kSeveral) throw std::length_error("more than 2^32 nodes in one graph");
        std::uint32_t input = 0;
        bool holds_graphs = false;
        node.for_each_field([&](const wire::Field& found, const wire::FieldRow* row) {
            if (row == &field<"NodeProto.input">) {
                add_use(found.text(), {position, input++});
            } else if (row == &field<"NodeProto.output">) {
                add_output(found.text(), position);
            } else if (row == &field<"NodeProto.attribute">) {
                holds_graphs = holds_graphs || Attribute(node.inner(*row, found)).may_hold_graph();
            }
        });
        if (holds_graphs) add_subgraphs(Node(node), position);
    }

    void add_use(std::string_view name, const Use& use) { later(name, use, false); }

    /// All uses. Nothing can be added afterwards.
    [[nodiscard]] const os::LargeVector<Named>& found() {
        in_flight_.finish(note_);
        return found_;
    }

  private:
    void add_output(std::string_view name, std::uint32_t node) { later(name, {node, 0}, true); }

    void later(std::string_view name, const Use& use, bool is_output) {
        if (!name.empty()) in_flight_.add(name, {use, is_output}, note_);
    }

    void add_subgraphs(const Node& node, std::uint32_t position) {
        std::deque<onnx::Message>& users = self_.inner_users_;
        CapturedUses outer(
            [&](std::string_view value, const onnx::Message& user, std::uint32_t index) {
                if (users.empty() || !users.back().is(user)) users.push_back(user);
                add_use(value, {position, index, static_cast<std::uint32_t>(users.size() - 1)});
            });
        outer.find_below(node, max_depth_);
    }

    struct Role {
        Use use;
        bool is_output;
    };
    struct Note {
        Collector& collector;

        void operator()(const NameTable::Added& value, const Role& role) const {
            auto& makers = collector.self_.makers_;
            if (value.is_new) makers.push_back(Use::kNone);
            if (role.is_output) {
                std::uint32_t& maker = makers[value.position];
                maker = maker == Use::kNone ? role.use.node : kSeveral;
            } else {
                collector.found_.push_back({value.position, role.use});
            }
        }
    };

    ValueUses& self_;
    std::uint32_t max_depth_;
    os::LargeVector<Named> found_;
    NamesInFlight<Role> in_flight_{self_.values_};
    Note note_{*this};
};

ValueUses::ValueUses(const FieldIndex& graph, std::uint32_t max_depth) {
    const bool is_function = &graph.message().table() == &onnx::message<"FunctionProto">;
    body_ = is_function ? "function" : "graph";
    const wire::FieldRow& nodes = nodes_of(graph.message());
    // Most nodes make one value, and use fewer than three. Memory that is left is not touched.
    const std::uint64_t values = graph.likely_names(nodes);
    values_.reserve(values);
    makers_.reserve(values);
    Collector collector(*this, max_depth);
    collector.reserve(3 * values);
    graph.for_each(nodes, [&](const wire::Field& element) {
        collector.add_node(graph.message().inner(nodes, element));
    });
    std::uint32_t index = 0;
    const wire::FieldRow& outputs =
        is_function ? field<"FunctionProto.output"> : field<"GraphProto.output">;
    graph.for_each(outputs, [&](const wire::Field& element) {
        const auto name =
            is_function
                ? element.text()
                : graph.message().inner(outputs, element).text(field<"ValueInfoProto.name">);
        collector.add_use(name, {Use::kNone, index++});
    });
    sort_by_value(collector.found());
}

// Counts the uses of each value, then puts each use where those of its value begin.
void ValueUses::sort_by_value(const os::LargeVector<Named>& found) {
    if (found.size() >= Use::kNone) throw std::length_error("more than 2^32 uses in one graph");
    os::LargeVector<std::uint32_t> next(makers_.size() + 1, 0);
    for (const Named& each : found) ++next[each.value + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    uses_.resize(found.size());
    for (const Named& each : found) uses_[next[each.value]++] = each.use;
    next.pop_back();
    ends_ = std::move(next);
}

std::optional<std::uint32_t> ValueUses::producer(std::string_view value) const {
    const auto known = values_.find(value);
    if (!known) return std::nullopt;
    const std::uint32_t node = maker(*known);
    return node == Use::kNone ? std::nullopt : std::optional(node);
}

std::uint32_t ValueUses::maker(std::uint32_t value) const {
    if (makers_[value] != kSeveral) return makers_[value];
    throw duplicate_name("node output", values_.name(value), "look for it in node_outputs()");
}

std::vector<std::uint32_t> ValueUses::topological_order() const {
    TopologicalOrder found = order();
    if (!found.in_cycle) return std::move(found.nodes);
    const std::string path = body_ + ".node[" + std::to_string(*found.in_cycle) + "]";
    Error error("model.cycle",
                path + " depends on its own output, so the nodes have no topological order");
    error.path = path;
    throw error;
}

std::optional<std::uint32_t> ValueUses::node_in_cycle() const {
    if (std::ranges::find(makers_, kSeveral) != makers_.end()) return std::nullopt;
    return order().in_cycle;
}

TopologicalOrder ValueUses::order() const {
    // Calls visit(maker, user) for each use of a node's output by a node or in its subgraphs.
    const auto for_each_edge = [&](auto&& visit) {
        std::uint32_t i = 0;
        for (std::uint32_t value = 0; value < makers_.size(); ++value) {
            const std::uint32_t made_by = maker(value);
            for (; i < ends_[value]; ++i) {
                if (made_by != Use::kNone && uses_[i].node != Use::kNone) {
                    visit(made_by, uses_[i].node);
                }
            }
        }
    };
    return model::topological_order(node_count_, for_each_edge);
}

}  // namespace onnxmap::model
