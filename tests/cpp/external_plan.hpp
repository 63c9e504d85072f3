// A plan for reading tensors whose values are in a mapped data file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bulk/plan.hpp"
#include "external_folder.hpp"
#include "loaded_model.hpp"
#include "model/graph.hpp"
#include "model/load.hpp"
#include "onnx/schema.hpp"
#include "sample_models.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

/// Writes a model with this graph into the folder and opens it. The plan reads the initializers at
/// `positions`.
[[nodiscard]] inline std::unique_ptr<bulk::Plan> external_plan(
    const TemporaryFolder& folder, const Bytes& graph, const std::vector<std::uint32_t>& positions,
    const bulk::Options& options) {
    model::LoadOptions load;
    load.root = &onnx::message<"ModelProto">;
    load.external = external_folder(folder.path().string(), source::IoMode::mmap);
    const std::string path = folder.write("m", ByteView(model(graph)));
    const auto document = model::load_file(path, source::IoMode::mmap, load);
    const model::Graph opened = main_graph(document);
    return std::make_unique<bulk::Plan>(opened.initializers(), positions, options);
}

}  // namespace onnxmap::test
