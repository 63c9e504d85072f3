// New TensorProtos of Python values: numbers, strings, arrays, tensors of this and other libraries.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/handles.hpp"
#include "onnx/data_type.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// Whether a tensor refers to the memory of an array, which the caller then keeps unchanged, or has
/// a copy of it.
enum class ArrayMemory { held, copied };

/// A new TensorProto without a name: of an array, of numbers or strings in nested lists, of a
/// Tensor or TensorProto of any library (without its documentation and metadata), or of a torch
/// tensor. Large values of tensors are not copied.
/// Throws TypeError if ONNX has no type for the elements, and errors of reading a Tensor.
[[nodiscard]] Handle tensor_of(const py::object& values, ArrayMemory memory);

/// Whether an object is a Tensor or TensorProto of any library, which says what type it means.
[[nodiscard]] bool is_tensor_message(const py::object& values);

/// The `raw_data` of an array's elements as an array of bytes: a view of the array if it has that
/// layout. `bits`: of an element; less than 8 are packed if the array has a byte for each.
[[nodiscard]] py::object stored_bytes(const py::object& array, unsigned bits);

/// Sets the raw_data of a TensorProto to the bytes of a buffer, which are not copied if they are
/// many.
void hold_raw_data(const Handle& tensor, const py::object& buffer);

/// Sets the raw_data of a TensorProto to the stored bytes of a Tensor, which are not copied. False
/// if it has none in one place in memory, or in a file that is mapped.
[[nodiscard]] bool hold_values(const Handle& tensor, const Tensor& values);

}  // namespace onnxmap::bindings
