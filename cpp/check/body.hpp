// The nodes of a graph or a function, in order, and the values that they use and define.
// Source: ONNX's IR.md, "Names Within a Graph" and "Nodes".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "check/checking.hpp"
#include "check/node_parts.hpp"
#include "model/field_index.hpp"
#include "model/name_table.hpp"

namespace onnxmap::check {

/// Whom nodes belong to: the model, or one of its functions.
struct Owner {
    const Imports& imports;
    const model::NameTable* attributes = nullptr;          // of the function; null: the model
    std::optional<std::uint32_t> function = std::nullopt;  // its position; nothing: the model
};

class Body {
  public:
    using Mark = VisibleValues::Mark;

    /// What surrounds the nodes.
    struct Around {
        Body* graph = nullptr;    // the graph that holds this one in a node
        bool sees_outer = false;  // whether the nodes see the values that are visible now
        bool is_last = false;     // whether nothing is looked at afterwards
    };

    /// `place`: of the graph or function.
    Body(Checking& checking, const Place& place, const Owner& owner, const Around& around);
    ~Body();
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;

    [[nodiscard]] const Owner& owner() const noexcept { return owner_; }

    /// Defines an input or an initializer. Empty names define nothing.
    void define(std::string_view name, Mark mark, const Place& place);

    /// Checks all nodes of the graph or function that the index is of. A node sees what was defined
    /// before.
    void check_nodes(const model::FieldIndex& fields, const wire::FieldRow& row);

    /// To be called before others look at the visible values while nodes are checked.
    void settle();

  private:
    struct Event {
        std::uint64_t node;
        std::uint32_t slot;
        bool defines;
        std::string_view title;  // of the node
    };
    // A use of a value that nothing has defined so far.
    struct Unknown {
        VisibleValues::Id value;
        std::uint32_t slot;
        std::uint64_t node;
        std::string_view title;
        const Place* body;  // null: this one
    };

    void check_node(const onnx::Message& node, const Place& place);
    void happened(VisibleValues::Id value, const Event& event);
    void defined_again(VisibleValues::Id value, const Place& place);
    void resolve(const model::FieldIndex& fields);
    void find_cycle(const model::FieldIndex& fields);

    Checking& checking_;
    const Place& place_;
    Owner owner_;
    Body* outer_;
    const wire::FieldRow* row_ = nullptr;  // of the nodes
    NodeParts parts_;                      // of the node that is checked
    model::NamesInFlight<Event> events_;
    model::NameTable node_names_;
    model::NamesInFlight<std::uint64_t> names_in_flight_;
    std::vector<Unknown> unknown_;
};

}  // namespace onnxmap::check
