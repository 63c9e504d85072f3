// Opens a model. Rejects more files than protobuf does: a model must not be empty and must have a
// graph.
#pragma once

#include <memory>
#include <string>

#include "model/document.hpp"

namespace onnxmap::model {

/// Opens the file and builds its document. A ModelProto must not be empty and must have a graph.
/// Throws FileError, and Error (`model.empty`, `model.no_graph`, and the errors of Document) with
/// the file's path. If the file is not an ONNX model, the error names the format that it looks
/// like. Throws Error `file.changed` for a model that ends too soon if its file is locked or has
/// changed: the end may be a part of an append.
[[nodiscard]] std::shared_ptr<const Document> load_file(const std::string& path,
                                                        source::IoMode mode, LoadOptions options);

/// Builds the document of a source. If `require_model` is false, any message that protobuf accepts
/// is accepted.
[[nodiscard]] std::shared_ptr<const Document> load_source(std::shared_ptr<source::Source> source,
                                                          const LoadOptions& options,
                                                          bool require_model);

}  // namespace onnxmap::model
