#include "surgery/bodies.hpp"

#include "model/message_walk.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::surgery {

std::vector<PlacedBody> all_graphs(const model::Document& document) {
    std::vector<PlacedBody> found;
    model::for_each_graph(document, [&](const std::string& path, const onnx::Message& graph) {
        found.push_back({path, graph});
    });
    return found;
}

std::vector<PlacedBody> all_functions(const model::Document& document) {
    std::vector<PlacedBody> found;
    const onnx::Message root = document.root();
    const wire::FieldRow& list = onnx::field<"ModelProto.functions">;
    std::size_t position = 0;
    document.index(root)->for_each_child(list, [&](const onnx::Message& element) {
        found.push_back({"functions[" + std::to_string(position++) + "]", element});
    });
    return found;
}

}  // namespace onnxmap::surgery
