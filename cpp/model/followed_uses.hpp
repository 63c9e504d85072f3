// Which node makes each value of a graph or function, and who uses it, in its present state: nodes,
// and what the subgraphs of nodes take from the graph.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "model/field_index.hpp"
#include "model/followed_list.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

/// Something that uses a value: a NodeProto, or a GraphProto or FunctionProto that has it as an
/// output.
struct UserOfValue {
    onnx::Message message;
    std::uint32_t index;  // among the inputs, or the outputs
    /// The key of the node of the graph or function that uses the value, or holds a subgraph that
    /// does. Null: the value is an output of the graph or function.
    const std::uint8_t* holder = nullptr;
};

class FollowedUses final : public FollowedList {
  public:
    /// `body`: a GraphProto or a FunctionProto of the document.
    FollowedUses(const Document& document, const onnx::Message& body);

    /// The node that has `value` among its outputs. Throws Error `model.duplicate_name` if several
    /// nodes have, or one has it twice.
    [[nodiscard]] std::optional<onnx::Message> producer(std::string_view value);

    /// The nodes that use a value, in the order of `graph`, a state of the graph or function. Those
    /// in a subgraph, which may also be a graph that has the value as an output, follow the node
    /// that holds the subgraph. A subgraph that has a value of the same name uses that one. Throws
    /// Error `edit.concurrent`.
    [[nodiscard]] std::vector<UserOfValue> uses(std::string_view value, const FieldIndex& graph);

    /// Whether a node has `value` as an output.
    [[nodiscard]] bool is_made(std::string_view value);
    /// Whether a subgraph of a node makes a value of that name.
    [[nodiscard]] bool is_made_inside(std::string_view value);
    /// Whether a node, or a message in it, uses it.
    [[nodiscard]] bool is_used(std::string_view value);

    /// The messages in subgraphs that describe a value of the graph in an annotation: a
    /// TensorAnnotation, or a StringStringEntryProto of one.
    [[nodiscard]] std::vector<onnx::Message> annotations(std::string_view value);

  private:
    [[nodiscard]] std::unique_ptr<State> read_list(const std::shared_ptr<const FieldIndex>& fields,
                                                   NameTable::Text text) const override;
    void read(const onnx::Message& element, State& state) const override;
    bool changed_elsewhere(const EditStep& step, const State& state, Again& again) const override;

    template <class Visit>
    void for_each_inside(std::string_view value, Inside::Role role, Visit&& visit);
    template <class Visit>
    void for_each_use(std::string_view value, Visit&& visit);
    template <class Visit>
    void for_each_maker(std::string_view value, Visit&& visit);
};

}  // namespace onnxmap::model
