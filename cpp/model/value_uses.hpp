// Which node of a graph or function makes each value, and who uses it: nodes, the graph's outputs,
// and what the subgraphs of nodes take from the graph.
// Source: ONNX's IR.md, "Nodes", "Value names" and "Graphs": values have names, a name is made
// once, and subgraphs see the values of the graphs around them.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/field_index.hpp"
#include "model/name_table.hpp"
#include "model/topological_order.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

/// One place where a value is used.
struct Use {
    static constexpr std::uint32_t kNone = UINT32_MAX;

    /// The node of the graph that uses the value or holds a subgraph that does. kNone: the value is
    /// an output of the graph.
    std::uint32_t node;
    /// The position among the inputs of the user, or among the outputs if the user is a graph.
    std::uint32_t index;
    /// Where the user is among those in subgraphs; kNone: it is in no subgraph.
    std::uint32_t inner = kNone;
};

class ValueUses {
  public:
    /// Reads all nodes of a GraphProto or a FunctionProto. `max_depth`: the deepest nesting of
    /// messages, as for the load pass. Throws Error `file.changed` if messages are nested deeper.
    ValueUses(const FieldIndex& graph, std::uint32_t max_depth);

    /// The position of the node that has `value` among its outputs; nothing if no node has. Throws
    /// Error `model.duplicate_name` if several nodes have.
    [[nodiscard]] std::optional<std::uint32_t> producer(std::string_view value) const;

    /// The uses of `value` in the order of the nodes, then among the outputs of the graph. Uses in
    /// a subgraph follow those of the node that holds the subgraph. A subgraph that has a value of
    /// the same name uses that one.
    [[nodiscard]] std::span<const Use> uses(std::string_view value) const {
        const auto known = find(value);
        return known ? uses(*known) : std::span<const Use>();
    }

    /// Values that nodes or outputs mention have numbers below count().
    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view value) const {
        return values_.find(value);
    }
    [[nodiscard]] std::span<const Use> uses(std::uint32_t value) const {
        const std::uint32_t begin = value == 0 ? 0 : ends_[value - 1];
        return std::span(uses_).subspan(begin, ends_[value] - begin);
    }
    [[nodiscard]] std::uint32_t count() const noexcept { return values_.size(); }

    /// The user that is in a subgraph: a NodeProto that has the value as an input, or a GraphProto
    /// that has it as an output.
    [[nodiscard]] const onnx::Message& inner_user(const Use& use) const {
        return inner_users_[use.inner];
    }

    /// The positions of all nodes: each after the nodes whose values it or its subgraphs use,
    /// otherwise in the order of the graph. Throws Error `model.cycle` if there is no such order,
    /// `model.duplicate_name` if several nodes make one value.
    [[nodiscard]] std::vector<std::uint32_t> topological_order() const;

    /// A node that depends on its own output; nothing if there is none, or if several nodes make
    /// one value.
    [[nodiscard]] std::optional<std::uint32_t> node_in_cycle() const;

  private:
    struct Named {
        std::uint32_t value;  // in values_
        Use use;
    };
    class Collector;

    [[nodiscard]] TopologicalOrder order() const;
    void sort_by_value(const os::LargeVector<Named>& found);
    [[nodiscard]] std::uint32_t maker(std::uint32_t value) const;

    static constexpr std::uint32_t kSeveral = UINT32_MAX - 1;

    std::string body_;  // what it is, for errors
    NameTable values_;
    os::LargeVector<std::uint32_t> makers_;  // of each value: a node, Use::kNone or kSeveral
    os::LargeVector<std::uint32_t> ends_;    // of the uses of each value, in uses_
    os::LargeVector<Use> uses_;
    std::deque<onnx::Message> inner_users_;  // grows without a copy of what is there
    std::uint32_t node_count_ = 0;
};

}  // namespace onnxmap::model
