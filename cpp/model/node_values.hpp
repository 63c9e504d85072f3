// The nodes of a graph or a function, and who makes and uses the values between them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "model/document.hpp"
#include "model/field_index.hpp"
#include "model/followed_uses.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

class NodeValues {
  public:
    /// `body`: a GraphProto or a FunctionProto of the document.
    NodeValues(std::shared_ptr<const Document> document, const onnx::Message& body)
        : NodeValues(document, document->index(body)) {}

    [[nodiscard]] const Document& document() const noexcept { return *document_; }

    /// All fields of the message, the lists of other messages included.
    [[nodiscard]] const std::shared_ptr<const FieldIndex>& fields() const noexcept {
        return fields_;
    }

    /// The NodeProto at a position of the list, which must exist.
    [[nodiscard]] onnx::Message node(std::uint64_t position) const;

    /// The node that has `value` among its outputs. If `value` is not made here, it is looked for
    /// in the graphs and the function around this graph, whose values it sees. Throws Error
    /// `model.duplicate_name` if nodes have it several times.
    [[nodiscard]] std::optional<onnx::Message> producer(std::string_view value) const;

    /// The users of a value: as FollowedUses::uses() has them, then the outputs of the body.
    [[nodiscard]] std::vector<UserOfValue> users(std::string_view value) const;

    /// The positions of all nodes: each after the nodes whose values it or its subgraphs use,
    /// otherwise in the order of the list. Throws Error `model.cycle` if there is no such order,
    /// `model.duplicate_name` if several nodes make one value.
    [[nodiscard]] std::vector<std::uint32_t> topological_order() const;

    /// The ValueInfoProto of a value, from the inputs, the outputs or the list of inner values, in
    /// this order, else from the graphs and the function around this graph. Throws Error
    /// `model.duplicate_name` if the first of these lists that has the name has it twice.
    [[nodiscard]] std::optional<onnx::Message> value(std::string_view name) const;

    /// Whether it makes a value of that name: an input, an initializer or a node has it. Throws
    /// Error `model.duplicate_name` if nodes have it several times.
    [[nodiscard]] bool makes(std::string_view value) const;

    /// Whether a graph or function around this graph makes a value of that name.
    [[nodiscard]] bool is_made_around(std::string_view value) const;

    /// Whether a subgraph of a node makes a value of that name, or, for the main graph, a graph of
    /// training. Edits cost no walk over the nodes.
    [[nodiscard]] bool is_made_inside(std::string_view value) const;

  protected:
    NodeValues(std::shared_ptr<const Document> document, std::shared_ptr<const FieldIndex> fields)
        : document_(std::move(document)), fields_(std::move(fields)) {}

  private:
    [[nodiscard]] std::shared_ptr<FollowedUses> uses() const {
        return document_->followed_uses(fields_->message());
    }

    std::shared_ptr<const Document> document_;
    std::shared_ptr<const FieldIndex> fields_;
};

}  // namespace onnxmap::model
