// The graph or function around each graph of a document, whose values subgraphs see, and the node
// there that holds the graph.
// Source: ONNX's IR.md, "Value names" and "Graphs"; onnx.proto, TrainingInfoProto.algorithm, which
// is run as one graph with the main graph.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "onnx/message.hpp"

namespace onnxmap::model {

class Document;

struct OuterScope {
    onnx::Message body;
    std::optional<onnx::Message> holder;  // a node of the body; an algorithm of training has none
};

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
    [[nodiscard]] std::optional<OuterScope> around(const onnx::Message& graph) const;

  private:
    // `scope`: the graph or function around the entered message, `holder`: its node that holds the
    // message; null if there is none.
    void enter(const onnx::Message& entered, const onnx::Message* scope,
               const onnx::Message* holder, std::uint32_t depth_left);

    std::uint64_t made_at_;
    std::optional<onnx::Message> main_;
    std::unordered_map<const std::uint8_t*, std::optional<OuterScope>> around_;  // by its key
};

}  // namespace onnxmap::model
