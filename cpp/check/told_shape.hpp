// Shapes that a model tells.
#pragma once

#include "check/node_shapes.hpp"
#include "check/shape_store.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

/// What a TensorProto tells of its value. The numbers are in `dims` and `elements`.
[[nodiscard]] Known told_tensor(const onnx::Message& tensor, Numbers& dims, Numbers& elements);

/// The shape that a TensorProto, a SparseTensorProto or a ValueInfoProto gives its value.
/// `with_elements`: with those of a small tensor of integers.
[[nodiscard]] ShapeStore::Id told_shape(ShapeStore& store, const onnx::Message& message,
                                        bool with_elements = false);

/// Whether two shapes of one value differ.
[[nodiscard]] bool contradict(const Known& a, const Known& b);

}  // namespace onnxmap::check
