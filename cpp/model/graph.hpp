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
#include "model/initializers.hpp"
#include "model/list_names.hpp"
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

    /// The Graph of `now`, a later state of the same message. If the edits between them changed no
    /// names, it keeps what is known of the names.
    [[nodiscard]] std::shared_ptr<const Graph> remade(const onnx::Message& now) const;

    /// All fields of the message, the lists of other messages included.
    [[nodiscard]] const std::shared_ptr<const FieldIndex>& fields() const noexcept {
        return fields_;
    }

    [[nodiscard]] std::uint64_t node_count() const noexcept { return fields_->count(kNode); }

    /// Calls visit(node) for each Node, in order.
    template <class Visit>
    void for_each_node(Visit&& visit) const {
        fields_->for_each(kNode, [&](const wire::Field& element) {
            visit(Node(fields_->message().inner(kNode, element)));
        });
    }

    /// The NodeProto at a position of the list, which must exist.
    [[nodiscard]] onnx::Message node(std::uint64_t position) const {
        return fields_->message().inner(kNode, fields_->at(kNode, position));
    }

    /// Who makes and who uses each value; made at the first call. Throws Error `file.changed`.
    [[nodiscard]] const ValueUses& uses() const;

    /// The user of the first of uses().uses(value); of the main graph, else a user in the training
    /// information: a TrainingInfoProto, or a part of its algorithm. Nothing if there is none. It
    /// walks over the nodes, which costs less than uses() after an edit.
    [[nodiscard]] std::optional<onnx::Message> first_user(std::string_view value) const;

    /// The user of a value: a NodeProto, or the GraphProto that has the value as an output.
    [[nodiscard]] onnx::Message user(const Use& use) const;

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

    [[nodiscard]] std::uint64_t sparse_initializer_count() const noexcept {
        return fields_->count(kSparse);
    }
    /// The SparseTensorProto at a position of the list, which must exist.
    [[nodiscard]] onnx::Message sparse_initializer(std::uint64_t position) const;

    /// The sparse initializers by the names of their values; made at the first call.
    [[nodiscard]] const ListNames& sparse_initializer_names() const;

  private:
    static constexpr const wire::FieldRow& kNode = onnx::field<"GraphProto.node">;
    static constexpr const wire::FieldRow& kSparse = onnx::field<"GraphProto.sparse_initializer">;

    Graph(std::shared_ptr<const Document> document, std::shared_ptr<const FieldIndex> fields)
        : fields_(fields), initializers_(std::move(document), std::move(fields)) {}
    Graph(std::shared_ptr<const FieldIndex> fields, Initializers initializers,
          std::uint64_t names_at)
        : fields_(std::move(fields)), initializers_(std::move(initializers)), names_at_(names_at) {}

    std::shared_ptr<const FieldIndex> fields_;
    Initializers initializers_;
    std::shared_ptr<MadeOnce<const ListNames>> sparse_names_ =
        std::make_shared<MadeOnce<const ListNames>>();
    std::uint64_t names_at_ = document().edits().renamings();  // when names were looked at
    mutable MadeOnce<const ValueUses> uses_;
};

/// The GraphProto of a ModelProto. Throws Error `model.no_graph` if there is none.
[[nodiscard]] onnx::Message main_graph_message(const Document& document);

/// The training information of a model, if `graph` is its main graph.
[[nodiscard]] std::vector<onnx::Message> training_info_of(const Document& document,
                                                          const onnx::Message& graph);

/// The graph of a loaded model. Throws Error `model.no_graph`.
[[nodiscard]] Graph main_graph(const std::shared_ptr<const Document>& document);

}  // namespace onnxmap::model
