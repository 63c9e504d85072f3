// Opening a model: the document, and the refusals that go beyond protobuf's verdict.
#pragma once

#include <memory>
#include <string>

#include "model/document.hpp"

namespace onnxmap::model {

/// Opens the file and builds its document. A ModelProto must not be empty and must have a graph.
/// Throws Error (`model.empty`, `model.no_graph`, and what Document throws) with the file's path,
/// naming what the file looks like where it is no ONNX model; and FileError.
[[nodiscard]] std::shared_ptr<const Document> load_file(const std::string& path,
                                                        source::IoMode mode, LoadOptions options);

/// The same for bytes that are in memory. `require_model` false: protobuf's verdict alone.
[[nodiscard]] std::shared_ptr<const Document> load_source(std::shared_ptr<source::Source> source,
                                                          const LoadOptions& options,
                                                          bool require_model);

}  // namespace onnxmap::model
