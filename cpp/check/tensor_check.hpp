// The rules of tensors, dense and sparse, and of their external data.
#pragma once

#include "check/checking.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

/// A TensorProto. Reads no values, except those in typed fields of a small tensor; if `values` is
/// asked for, all that only the values tell.
void check_tensor(Checking& checking, const onnx::Message& tensor, const FieldPath& path);

/// A SparseTensorProto, and the two tensors in it.
void check_sparse_tensor(Checking& checking, const onnx::Message& sparse, const FieldPath& path);

/// What the ranges of all external tensors that were checked tell together.
void check_external_ranges(Checking& checking);

}  // namespace onnxmap::check
