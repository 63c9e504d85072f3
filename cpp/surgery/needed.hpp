// What the outputs of a graph or function need: nodes, values, operators. Subgraphs count with the
// node that holds them, and only what they need themselves.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/document.hpp"
#include "model/flow_table.hpp"
#include "model/name_table.hpp"
#include "os/large_vector.hpp"

namespace onnxmap::surgery {

class Needed {
  public:
    struct Subgraph {
        std::uint32_t node;
        std::string_view attribute;  // its name
        std::uint64_t position;      // of the attribute
        std::string field;           // of the attribute, like ".g" or ".graphs[1]"
        std::unique_ptr<Needed> needed;
    };

    /// What a subgraph needs from around it: for its outputs alone, or for all of its nodes.
    enum class Of : std::uint8_t { needed_nodes, all_nodes };

    /// Reads all nodes of a GraphProto or FunctionProto. `may_call`: the model has functions;
    /// without them, domains alone say which imports are needed. Nothing is needed yet, but what
    /// subgraphs need is known. Throws Error `model.duplicate_name` if several nodes make one
    /// value, and what onnx::fail_too_deep throws.
    Needed(const model::Document& document, const onnx::Message& body, std::uint32_t depth_left,
           Of subgraphs, bool may_call);

    /// The outputs are needed.
    void need_outputs();
    /// All nodes, inputs and initializers are needed.
    void need_all();
    /// A value is needed. Returns whether the body mentions it.
    bool need(std::string_view value);
    /// A value comes from outside: what makes it is not needed for that.
    void give(std::string_view value);
    /// Finds all that is needed for what is needed already.
    void find();

    [[nodiscard]] const onnx::Message& message() const noexcept { return fields_->message(); }
    [[nodiscard]] const model::FieldIndex& fields() const noexcept { return *fields_; }
    [[nodiscard]] bool is_node_needed(std::uint64_t node) const { return live_[node] != 0; }
    [[nodiscard]] std::uint64_t node_count() const noexcept { return live_.size(); }
    [[nodiscard]] bool is_needed(std::string_view value) const;
    /// Whether an input, an initializer or a needed node makes it.
    [[nodiscard]] bool is_made(std::string_view value) const;
    /// Whether the body has it, needed or not.
    [[nodiscard]] bool is_own(std::string_view value) const;
    [[nodiscard]] bool is_input(std::string_view value) const;
    /// The subgraphs of all nodes, in order.
    [[nodiscard]] const std::vector<Subgraph>& subgraphs() const noexcept { return subgraphs_; }

    /// Calls visit(name) for each needed value that the body does not make, and each that is given.
    template <class Visit>
    void for_each_captured(Visit&& visit) const {
        for (std::uint32_t i = 0; i < values_.size(); ++i) {
            if (values_[i].is_needed && !is_made_here(i)) visit(flow_.name(i));
        }
    }

    /// Calls visit(domain, op_type, overload) for the operators of needed nodes, each about once,
    /// and those in their subgraphs.
    template <class Visit>
    void for_each_operator(Visit&& visit) const {
        std::vector<bool> seen(operators_.size());
        for (std::uint64_t node = 0; node < live_.size(); ++node) {
            const std::uint32_t called = operator_of_[node];
            if (live_[node] == 0 || seen[called]) continue;
            seen[called] = true;
            visit(operators_[called].domain, operators_[called].op_type,
                  operators_[called].overload);
        }
        for (const Subgraph& each : subgraphs_) {
            if (is_node_needed(each.node)) each.needed->for_each_operator(visit);
        }
        for (const auto& each : defaults_) each->for_each_operator(visit);
    }

  private:
    using FlowTable = model::FlowTable;

    struct Value {
        bool is_needed = false;
        bool is_input = false;
        bool is_held = false;  // an input or an initializer
    };
    struct Operator {
        std::string_view domain;
        std::string_view op_type;
        std::string_view overload;

        bool operator==(const Operator&) const = default;
    };

    void read_nodes(std::uint32_t depth_left);
    void read_subgraphs(const FlowTable::Node& node, std::uint32_t depth_left,
                        const FlowTable::Use& use);
    [[nodiscard]] std::unique_ptr<Needed> inner(const onnx::Message& graph,
                                                std::uint32_t depth_left, Of of,
                                                const FlowTable::Use& use);
    void read_defaults(std::uint32_t depth_left);
    void read_lists();
    void read_annotations();
    std::uint32_t id_of(std::string_view name);
    std::uint32_t id_of(const Operator& called);
    void need_id(std::uint32_t value);
    void need_node(std::uint32_t node);
    [[nodiscard]] bool is_made_here(std::uint32_t value) const {
        return flow_.maker(value) != FlowTable::kNone || values_[value].is_held;
    }
    // Keeps what is known of the names that the body makes, and gives up the rest: a name that
    // passes through many subgraphs is then kept by the outermost only. Nothing can be needed or
    // found after that.
    void settle();

    const model::Document& document_;
    Of subgraphs_of_;
    bool may_call_;
    std::shared_ptr<const model::FieldIndex> fields_;
    FlowTable flow_;
    os::LargeVector<Value> values_;  // by number in flow_
    os::LargeVector<std::uint8_t> live_;
    os::LargeVector<std::uint32_t> operator_of_;
    model::NameTable operator_keys_{model::NameTable::Text::copied};
    std::vector<Operator> operators_;         // by position in operator_keys_
    std::string key_;                         // of the operator that is looked up; keeps its memory
    std::array<std::uint32_t, 16> recent_{};  // operators that were looked up
    std::size_t next_recent_ = 0;
    std::vector<Subgraph> subgraphs_;
    std::vector<std::unique_ptr<Needed>> defaults_;  // of the attributes of a function
    // Annotations of values: a needed value needs its parameters. Sorted.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> parameters_;
    std::vector<std::uint32_t> waiting_;
};

}  // namespace onnxmap::surgery
