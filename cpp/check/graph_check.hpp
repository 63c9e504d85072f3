// The rules of a graph: its inputs, initializers, outputs and described values, and its nodes.
// Source: ONNX's IR.md, "Graphs".
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "check/checking.hpp"
#include "check/node_list_check.hpp"
#include "model/field_index.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

enum class GraphKind : std::uint8_t {
    main,
    subgraph,
    initialization,  // of training
    algorithm,       // of training: it continues the main graph
};

/// The graph of an attribute of a node in `outer`.
void check_subgraph(Checking& checking, const onnx::Message& graph, const FieldPath& path,
                    NodeListCheck& outer);

/// One graph, and the values of it and of those around it.
class GraphCheck {
  public:
    GraphCheck(Checking& checking, const onnx::Message& graph, const FieldPath& path,
               GraphKind kind, const Owner& owner, NodeListCheck* outer = nullptr);

    /// Checks everything. The values of the graph stay visible as long as this object lives.
    void run();

    /// The types of the inputs and outputs of a subgraph that was checked.
    [[nodiscard]] BodyTypes take_types() { return std::move(types_); }

  private:
    void check_fields();
    void check_inputs();
    void check_initializers();
    // `value`: the tensor, or the sparse tensor whose values it is.
    void check_initializer(const onnx::Message& tensor, const onnx::Message& value,
                           const FieldPath& path);
    void note_described_types();
    void check_outputs();
    void check_unused();
    void check_value_infos();
    void check_described(const onnx::Message& value, VisibleValues::Id id, const FieldPath& path);
    void check_annotations();
    void check_named(const onnx::Message& value_info, std::string_view name, const FieldPath& path);
    void check_default(const onnx::Message& tensor, const FieldPath& path);
    // The position of an input.
    [[nodiscard]] std::uint64_t input_of(std::string_view name) const;

    template <class Visit>
    void for_each(const wire::FieldRow& row, Visit&& visit);

    Checking& checking_;
    const onnx::Message& graph_;
    const FieldPath& path_;
    GraphKind kind_;
    std::shared_ptr<const model::FieldIndex> fields_;
    NodeListCheck body_;
    const NodeListCheck* outer_;                                       // of a subgraph
    BodyTypes types_;                                                  // of a subgraph
    std::vector<std::pair<VisibleValues::Id, std::uint64_t>> inputs_;  // their positions
    // The initializers of the field GraphProto.initializer.
    std::vector<std::pair<VisibleValues::Id, std::uint64_t>> initializers_;
};

}  // namespace onnxmap::check
