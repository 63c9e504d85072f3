#include "model/graph.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/name_table.hpp"
#include "model/sparse_tensor.hpp"

namespace onnxmap::model {

std::vector<std::pair<std::string_view, std::uint64_t>> Graph::op_counts() const {
    NameTable names;
    std::vector<std::pair<std::string_view, std::uint64_t>> counts;  // by first occurrence
    for_each_node([&](const Node& node) {
        const std::string_view op_type = node.op_type();
        const auto [position, is_new] = names.add(op_type);
        if (is_new) counts.emplace_back(op_type, 0);
        ++counts[position].second;
    });
    std::ranges::stable_sort(counts,
                             [](const auto& a, const auto& b) { return a.second > b.second; });
    return counts;
}

onnx::Message Graph::sparse_initializer(std::uint64_t position) const {
    return onnx::message_in(kSparse, fields_->at(kSparse, position));
}

const TensorNames& Graph::sparse_initializer_names() const {
    return sparse_names_.get([&] {
        auto names = std::make_unique<TensorNames>();
        fields_->for_each(kSparse, [&](const wire::Field& element) {
            names->add(SparseTensor(document(), onnx::message_in(kSparse, element)).name());
        });
        return names;
    });
}

onnx::Message main_graph_message(const Document& document) {
    auto graph = document.child(document.root(), onnx::field<"ModelProto.graph">);
    if (graph) return std::move(*graph);
    Error error("model.no_graph", "the model has no graph");
    error.offset = 0;
    throw error;
}

Graph main_graph(const std::shared_ptr<const Document>& document) {
    return {document, main_graph_message(*document)};
}

}  // namespace onnxmap::model
