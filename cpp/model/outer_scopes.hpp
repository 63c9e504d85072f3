// The graph or function around each graph of a document: subgraphs see its values.
// Source: ONNX's IR.md, "Value names" and "Graphs"; onnx.proto, TrainingInfoProto.algorithm, which
// is run as one graph with the main graph.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "onnx/message.hpp"

namespace onnxmap::model {

class Document;

class OuterScopes {
  public:
    /// Walks over all graphs of the document, below a guard of its source. Throws what
    /// onnx::fail_too_deep throws.
    explicit OuterScopes(const Document& document);

    /// Whether around() of a graph of the document is right after `edits` edits.
    [[nodiscard]] bool knows(const onnx::Message& graph, std::uint64_t edits) const {
        return edits == made_at_ || around_.contains(graph.key());
    }

    /// The graph or function around a graph; nothing if there is none.
    [[nodiscard]] std::optional<onnx::Message> around(const onnx::Message& graph) const;

  private:
    // `scope`: the graph or function around the entered message; null if there is none.
    void enter(const onnx::Message& entered, const onnx::Message* scope, std::uint32_t depth_left);

    std::uint64_t made_at_;
    std::optional<onnx::Message> main_;
    std::unordered_map<const std::uint8_t*, std::optional<onnx::Message>> around_;  // by its key
};

}  // namespace onnxmap::model
