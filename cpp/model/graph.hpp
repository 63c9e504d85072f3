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
#include "model/node_values.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

class Graph : public NodeValues {
  public:
    /// `graph`: a GraphProto of the document.
    Graph(std::shared_ptr<const Document> document, const onnx::Message& graph)
        : Graph(document, document->index(graph)) {}

    [[nodiscard]] std::uint64_t node_count() const noexcept { return fields()->count(kNode); }

    /// Calls visit(node) for each Node, in order.
    template <class Visit>
    void for_each_node(Visit&& visit) const {
        fields()->for_each(kNode, [&](const wire::Field& element) {
            visit(Node(fields()->message(), kNode, element));
        });
    }

    /// The first of users(value); of the main graph, else a user in the training information: a
    /// TrainingInfoProto, or a part of its algorithm. Nothing if there is none.
    [[nodiscard]] std::optional<onnx::Message> first_user(std::string_view value) const;

    /// The inputs that have an initializer of their name as default, or those that have none.
    /// Source: IR.md, "Graphs".
    [[nodiscard]] std::vector<onnx::Message> inputs(bool with_default) const;

    /// Where the types of inputs, outputs and inner values have a dimension of a name. The text
    /// points into the model.
    struct DimensionParam {
        struct Use {
            std::string_view value;
            std::uint64_t axis;
        };
        std::string_view name;
        std::vector<Use> uses;
    };
    /// The names of dimensions, in the order of first use.
    [[nodiscard]] std::vector<DimensionParam> dimension_params() const;

    /// Each op_type and how many nodes have it, the commonest first. The text points into the
    /// model.
    [[nodiscard]] std::vector<std::pair<std::string_view, std::uint64_t>> op_counts() const;

    [[nodiscard]] const Initializers& initializers() const noexcept { return initializers_; }

    /// The SparseTensorProto at a position of the list, which must exist.
    [[nodiscard]] onnx::Message sparse_initializer(std::uint64_t position) const;

    /// The sparse initializers by the names of their values; made at the first call.
    [[nodiscard]] const ListNames& sparse_initializer_names() const;

  private:
    static constexpr const wire::FieldRow& kNode = onnx::field<"GraphProto.node">;
    static constexpr const wire::FieldRow& kSparse = onnx::field<"GraphProto.sparse_initializer">;

    Graph(std::shared_ptr<const Document> document, std::shared_ptr<const FieldIndex> fields)
        : NodeValues(document, fields), initializers_(std::move(document), std::move(fields)) {}

    Initializers initializers_;
    std::shared_ptr<MadeOnce<const ListNames>> sparse_names_ =
        std::make_shared<MadeOnce<const ListNames>>();
};

/// The GraphProto of a ModelProto. Throws Error `model.no_graph` if there is none.
[[nodiscard]] onnx::Message main_graph_message(const Document& document);

/// The training information of a model, if `graph` is its main graph.
[[nodiscard]] std::vector<onnx::Message> training_info_of(const Document& document,
                                                          const onnx::Message& graph);

}  // namespace onnxmap::model
