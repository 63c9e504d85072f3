// The nodes of a graph or a function, in order, and the values that they use and define.
//
// Nodes are read in batches, those of a long list by several threads: each thread checks its
// nodes by themselves, and notes what happens to values. One thread then applies the notes, in
// the order of the nodes.
// Source: ONNX's IR.md, "Names Within a Graph" and "Nodes".
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "check/body_check.hpp"
#include "check/checking.hpp"
#include "check/node_shapes.hpp"
#include "check/signature_types.hpp"
#include "model/field_index.hpp"
#include "model/name_table.hpp"

namespace onnxmap::check {

class NodeListCheck {
  public:
    using Mark = VisibleValues::Mark;

    /// What surrounds the nodes.
    struct Around {
        NodeListCheck* graph = nullptr;  // the graph that holds this one in a node
        bool sees_outer = false;         // whether the nodes see the values that are visible now
        bool is_last = false;            // whether nothing is looked at afterwards
    };

    /// `path`: of the graph or function, whose nodes are in the field `row`.
    NodeListCheck(Checking& checking, const FieldPath& path, const model::FieldIndex& fields,
                  const wire::FieldRow& row, const Owner& owner, const Around& around);
    ~NodeListCheck();
    NodeListCheck(const NodeListCheck&) = delete;
    NodeListCheck& operator=(const NodeListCheck&) = delete;

    [[nodiscard]] const Owner& owner() const noexcept { return owner_; }

    /// Defines an input or an initializer. Empty names define nothing.
    void define(std::string_view name, Mark mark, const FieldPath& path);

    /// An element of the graph tells the shape of a value.
    void tell_shape(VisibleValues::Id value, const onnx::Message& element,
                    bool with_elements = false);

    /// Checks all nodes. A node sees what was defined before.
    void check_nodes();

    /// The type that the node that is looked at gives an input of its subgraph.
    [[nodiscard]] onnx::ValueType body_input(std::uint64_t position) const {
        return bodies_.input(position, types_);
    }
    /// A subgraph of the node that is looked at has these types.
    void judge_body(const FieldPath& path, BodyTypes body) {
        bodies_.judge(checking_, path, std::move(body), types_);
    }

  private:
    enum class Kind : std::uint8_t {
        named,   // the node has this name
        used,    // an input
        called,  // the node has an operator that ONNX describes: its position and the decided type
        function,  // the node calls the function of this position
        foreign,   // the node has one of this domain, which nobody describes
        nested,    // the node has attributes that hold messages
        defined,   // an output
    };
    // Small, since it goes from one processor's cache to another's.
    struct Event {
        std::string_view name;
        std::uint32_t hash;  // of the name, or the position of the operator
        std::uint32_t slot;  // among the inputs or outputs, or what is known of the operator
        std::uint16_t node;  // from the first of the batch
        Kind kind;
    };
    // What happens in the nodes of a batch.
    struct Events {
        std::uint64_t first = 0;  // node of the batch
        std::vector<Event> all;
    };
    // A use of a value that nothing has defined so far.
    struct Unknown {
        VisibleValues::Id value;
        std::uint32_t slot;
        std::uint64_t node;
        std::string_view title;  // of a node in another body
        const FieldPath* body;   // null: this one
    };

    void read_nodes(std::uint64_t begin, std::uint64_t end, Findings& findings,
                    Events& events) const;
    void make_room();
    void check_in_parallel();
    void apply_all(const Events& events);
    void apply(const Event& event, std::uint64_t node);
    void defined(VisibleValues::Id value, const Event& event, std::uint64_t node);
    void defined_again(VisibleValues::Id value, const FieldPath& path);
    void judge_shapes(const onnx::Operator& op, const Event& event, std::uint64_t index);
    void judge_type(VisibleValues::Id value, const Event& event, std::uint64_t node);
    void judge_shape(VisibleValues::Id value, const Event& event, std::uint64_t node);
    void judge_types(const Event& event, std::uint64_t node);
    void judge_output(const Event& event, std::uint64_t node, onnx::ValueType told);
    void note_call(const onnx::Message& node);
    void resolve();
    void find_cycle();

    std::string_view title_of(std::uint64_t index);
    [[nodiscard]] onnx::Message node(std::uint64_t index) const;
    [[nodiscard]] FieldPath path_of(std::uint64_t node) const { return {&path_, &row_, node}; }

    Checking& checking_;
    const FieldPath& path_;
    const model::FieldIndex& fields_;
    const wire::FieldRow& row_;
    Owner owner_;
    NodeListCheck* outer_;
    model::NameTable node_names_;
    std::vector<Unknown> unknown_;
    SignatureTypes types_;
    bool checks_shapes_;
    NodeShapes shapes_;
    std::uint64_t shaped_ = UINT64_MAX;  // the node whose shapes they are
    BodyCheck bodies_;
    std::uint64_t titled_ = UINT64_MAX;  // the node whose title was asked for last
    std::string_view title_;
};

}  // namespace onnxmap::check
