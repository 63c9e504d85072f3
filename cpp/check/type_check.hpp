// The rules of types: of values, and of attributes that are types.
// Source: onnx.proto, TypeProto and TensorShapeProto.
#pragma once

#include "check/checking.hpp"
#include "onnx/message.hpp"
#include "onnx/operators.hpp"

namespace onnxmap::check {

/// `type`: a TypeProto.
void check_type(Checking& checking, const onnx::Message& type, const FieldPath& path);

/// A ValueInfoProto. `is_boundary`: whether it is an input or output of the main graph, which must
/// have a type and a shape.
void check_value_info(Checking& checking, const onnx::Message& value_info, const FieldPath& path,
                      bool is_boundary);

/// The type that a ValueInfoProto gives its value.
[[nodiscard]] onnx::ValueType type_of_value(const onnx::Message& value_info);

/// The element type of a tensor or tensor type, by its number: ONNX defines it, and the IR version
/// of the model has it.
void check_elem_type(Checking& checking, std::int64_t number, const FieldPath& path);

}  // namespace onnxmap::check
