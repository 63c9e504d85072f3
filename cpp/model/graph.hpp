// What a GraphProto means: its nodes, and its dense and sparse initializers.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/made_once.hpp"
#include "model/document.hpp"
#include "model/field_index.hpp"
#include "model/initializers.hpp"
#include "model/node.hpp"
#include "model/tensor_names.hpp"
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
            visit(Node(onnx::message_in(kNode, element)));
        });
    }

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
    [[nodiscard]] const TensorNames& sparse_initializer_names() const;

  private:
    static constexpr const wire::FieldRow& kNode = onnx::field<"GraphProto.node">;
    static constexpr const wire::FieldRow& kSparse = onnx::field<"GraphProto.sparse_initializer">;

    Graph(std::shared_ptr<const Document> document, std::shared_ptr<const FieldIndex> fields)
        : fields_(fields), initializers_(std::move(document), std::move(fields)) {}

    std::shared_ptr<const FieldIndex> fields_;
    Initializers initializers_;
    mutable MadeOnce<const TensorNames> sparse_names_;
};

/// The GraphProto of a ModelProto. Throws Error `model.no_graph` if there is none.
[[nodiscard]] onnx::Message main_graph_message(const Document& document);

/// The graph of a loaded model. Throws Error `model.no_graph`.
[[nodiscard]] Graph main_graph(const std::shared_ptr<const Document>& document);

}  // namespace onnxmap::model
