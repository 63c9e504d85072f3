// All graphs and functions of a model.
#pragma once

#include <string>
#include <vector>

#include "model/document.hpp"
#include "onnx/message.hpp"

namespace onnxmap::surgery {

struct PlacedBody {
    std::string path;  // like `graph.node[3].attribute["body"].g`
    onnx::Message message;
};

/// Each GraphProto and FunctionProto of a document: graphs as model::for_each_graph() visits them,
/// then functions.
[[nodiscard]] std::vector<PlacedBody> all_bodies(const model::Document& document);

/// The graphs alone.
[[nodiscard]] std::vector<PlacedBody> all_graphs(const model::Document& document);

}  // namespace onnxmap::surgery
