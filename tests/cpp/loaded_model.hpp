// A model that is loaded from memory, and its graph.
#pragma once

#include <memory>

#include "memory_source.hpp"
#include "model/document.hpp"
#include "model/graph.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

[[nodiscard]] inline model::Graph main_graph(
    const std::shared_ptr<const model::Document>& document) {
    return {document, model::main_graph_message(*document)};
}

struct LoadedModel {
    /// `graph_fields` are the fields of a GraphProto.
    explicit LoadedModel(const Bytes& graph_fields) : LoadedModel(whole(model(graph_fields))) {}

    /// `bytes` are a whole ModelProto.
    [[nodiscard]] static std::shared_ptr<const model::Document> whole(const Bytes& bytes) {
        model::LoadOptions options;
        options.root = &onnx::message<"ModelProto">;
        return std::make_shared<const model::Document>(std::make_shared<MemorySource>(bytes),
                                                       options);
    }

    explicit LoadedModel(std::shared_ptr<const model::Document> loaded)
        : document(std::move(loaded)), graph(main_graph(document)) {}

    std::shared_ptr<const model::Document> document;
    model::Graph graph;
};

}  // namespace onnxmap::test
