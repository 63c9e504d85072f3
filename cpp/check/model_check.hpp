// The rules of a model as a whole.
// Source: ONNX's IR.md, "Models".
#pragma once

#include "check/checking.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

/// `model`: a ModelProto, the root.
void check_model(Checking& checking, const onnx::Message& model, const FieldPath& root);

}  // namespace onnxmap::check
