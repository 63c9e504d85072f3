// What a GraphProto means: its nodes, and its dense and sparse initializers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/made_once.hpp"
#include "model/document.hpp"
#include "model/field_index.hpp"
#include "model/followed_uses.hpp"
#include "model/initializers.hpp"
#include "model/list_names.hpp"
#include "model/named_list.hpp"
#include "model/node.hpp"
#include "model/value_uses.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

class Graph {
  public:
    /// `graph`: a GraphProto of the document.
    Graph(std::shared_ptr<const Document> document, const onnx::Message& graph)
        : Graph(document, document->index(graph)) {}

    [[nodiscard]] const Document& document() const noexcept { return initializers_.document(); }

    /// All fields of the message, the lists of other messages included.
    [[nodiscard]] const std::shared_ptr<const FieldIndex>& fields() const noexcept {
        return fields_;
    }

    [[nodiscard]] std::uint64_t node_count() const noexcept { return fields_->count(kNode); }

    /// Calls visit(node) for each Node, in order.
    template <class Visit>
    void for_each_node(Visit&& visit) const {
        fields_->for_each(kNode, [&](const wire::Field& element) {
            visit(Node(fields_->message(), kNode, element));
        });
    }

    /// The NodeProto at a position of the list, which must exist.
    [[nodiscard]] onnx::Message node(std::uint64_t position) const {
        return fields_->message().inner(kNode, fields_->at(kNode, position));
    }

    /// Who makes and who uses each value; made at the first call. Throws Error `file.changed`.
    [[nodiscard]] const ValueUses& uses() const;

    /// The node that has `value` among its outputs, and the users of a value, as uses() has them.
    /// After an edit they cost no walk over the graph.
    [[nodiscard]] std::optional<onnx::Message> producer(std::string_view value) const;
    [[nodiscard]] std::vector<UserOfValue> users(std::string_view value) const;

    /// The user of a value: a NodeProto, or the GraphProto that has the value as an output.
    [[nodiscard]] onnx::Message user(const Use& use) const;

    /// The first of users(value); of the main graph, else a user in the training information: a
    /// TrainingInfoProto, or a part of its algorithm. Nothing if there is none. Before any edit it
    /// walks over the nodes, which costs less than uses().
    [[nodiscard]] std::optional<onnx::Message> first_user(std::string_view value) const;

    /// The ValueInfoProto of a value, from the inputs, the outputs or the list of inner values, in
    /// this order. Throws Error `model.duplicate_name` if the first of these lists that has the
    /// name has it twice.
    [[nodiscard]] std::optional<onnx::Message> value(std::string_view name) const;

    /// The inputs that have an initializer of their name as default, or those that have none.
    /// Source: IR.md, "Graphs".
    [[nodiscard]] std::vector<onnx::Message> inputs(bool with_default) const;

    /// The names of the dimensions of the inputs, outputs and inner values, each once, in the order
    /// of first use. The text points into the model.
    [[nodiscard]] std::vector<std::string_view> dimension_params() const;

    /// Each op_type and how many nodes have it, the commonest first. The text points into the
    /// model.
    [[nodiscard]] std::vector<std::pair<std::string_view, std::uint64_t>> op_counts() const;

    [[nodiscard]] const Initializers& initializers() const noexcept { return initializers_; }

    /// The SparseTensorProto at a position of the list, which must exist.
    [[nodiscard]] onnx::Message sparse_initializer(std::uint64_t position) const;

    /// The sparse initializers by the names of their values; made at the first call.
    [[nodiscard]] const ListNames& sparse_initializer_names() const;

    /// The messages of a list of the graph by their naming_field(), which they must have.
    [[nodiscard]] NamedList named_in(const wire::FieldRow& list) const;

  private:
    static constexpr const wire::FieldRow& kNode = onnx::field<"GraphProto.node">;
    static constexpr const wire::FieldRow& kSparse = onnx::field<"GraphProto.sparse_initializer">;

    Graph(std::shared_ptr<const Document> document, std::shared_ptr<const FieldIndex> fields)
        : fields_(fields), initializers_(std::move(document), std::move(fields)) {}

    std::shared_ptr<const FieldIndex> fields_;
    Initializers initializers_;
    std::shared_ptr<MadeOnce<const ListNames>> sparse_names_ =
        std::make_shared<MadeOnce<const ListNames>>();
    mutable MadeOnce<const ValueUses> uses_;
};

/// The GraphProto of a ModelProto. Throws Error `model.no_graph` if there is none.
[[nodiscard]] onnx::Message main_graph_message(const Document& document);

/// The training information of a model, if `graph` is its main graph.
[[nodiscard]] std::vector<onnx::Message> training_info_of(const Document& document,
                                                          const onnx::Message& graph);

}  // namespace onnxmap::model
