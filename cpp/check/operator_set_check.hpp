// The rules of operator sets.
// Source: ONNX's IR.md, "Operator Sets" and "Operators".
#pragma once

#include "check/checking.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

/// `set`: an OperatorSetProto, the root.
void check_operator_set(Checking& checking, const onnx::Message& set, const FieldPath& root);

}  // namespace onnxmap::check
