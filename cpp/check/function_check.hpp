// The rules of functions: their parameters, their nodes, and whom they call.
// Source: ONNX's IR.md, "Functions", and onnx.proto, ModelProto.functions.
#pragma once

#include "check/checking.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

/// Notes the functions in a field of a model or an operator set: nodes that are checked later find
/// them.
void note_functions(Checking& checking, const onnx::Message& parent, const wire::FieldRow& row,
                    const FieldPath& root);

/// Checks the functions.
void check_functions(Checking& checking, const onnx::Message& parent, const wire::FieldRow& row,
                     const FieldPath& root);

/// Adds the operator sets that a model or function imports.
void note_imports(Checking& checking, const onnx::Message& parent, const wire::FieldRow& row,
                  const FieldPath& path, Imports& imports);

}  // namespace onnxmap::check
