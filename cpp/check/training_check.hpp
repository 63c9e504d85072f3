// The rules of training information.
// Source: onnx.proto, TrainingInfoProto.
#pragma once

#include "check/checking.hpp"
#include "model/field_index.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

/// `root`: a ModelProto, whose main graph has these fields and whose values are visible.
void check_training(Checking& checking, const onnx::Message& root, const model::FieldIndex& graph,
                    const FieldPath& path);

}  // namespace onnxmap::check
