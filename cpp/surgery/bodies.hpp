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

/// Each GraphProto of a document, as model::for_each_graph() visits them.
[[nodiscard]] std::vector<PlacedBody> all_graphs(const model::Document& document);

/// Each FunctionProto.
[[nodiscard]] std::vector<PlacedBody> all_functions(const model::Document& document);

}  // namespace onnxmap::surgery
