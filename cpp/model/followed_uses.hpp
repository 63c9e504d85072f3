// Which node makes each value of a graph or function, and who uses it, in its present state: what
// ValueUses says, after edits.
#pragma once

#include <cstdint>
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

    /// What ValueUses::producer() says of the present state.
    [[nodiscard]] std::optional<onnx::Message> producer(std::string_view value);

    /// The nodes that use a value, and those in their subgraphs; the order is that of
    /// ValueUses::uses() in `graph`, a state of the graph or function. Throws Error
    /// `edit.concurrent`.
    [[nodiscard]] std::vector<UserOfValue> uses(std::string_view value, const FieldIndex& graph);

    /// Whether a node mentions a value so.
    [[nodiscard]] bool has(std::string_view value, Mention::Role role);

    /// The messages in subgraphs that describe a value of the graph in an annotation: a
    /// TensorAnnotation, or a StringStringEntryProto of one.
    [[nodiscard]] std::vector<onnx::Message> annotations(std::string_view value);

  private:
    void read(const onnx::Message& element, Read& found) const override;
    bool changed_elsewhere(const EditStep& step, Read& found) const override;
};

}  // namespace onnxmap::model
