// The nodes Cast that a save with other element types adds: each gives an initializer NAME.TYPE the
// name and the type back that it had before.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/document.hpp"
#include "onnx/data_type.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

struct InitializerCast {
    onnx::Message node;
    std::uint64_t position;          // of the node in its graph
    std::string_view name;           // of the value that the node makes; a view of the node
    const onnx::DataTypeInfo* type;  // of that value
    onnx::Message tensor = {};
};

/// Those of a graph, in the order of the initializers, which nothing else uses.
[[nodiscard]] std::vector<InitializerCast> initializer_casts(const Document& document,
                                                             const onnx::Message& graph);

}  // namespace onnxmap::model
