// NumPy arrays over the bytes of a source. No other file makes arrays.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "bindings/python_objects.hpp"
#include "source/owned_bytes.hpp"
#include "tensor/values.hpp"

namespace onnxmap::bindings {

/// The object that keeps a source alive as the base of arrays. One owner serves any number of
/// arrays.
[[nodiscard]] py::object make_owner(std::shared_ptr<const source::Source> source);

/// numpy.dtype of an element type; imports ml_dtypes if NumPy lacks the type.
[[nodiscard]] py::object numpy_dtype(const onnx::DataTypeInfo& type);

/// The element type with this name in ONNX or NumPy, or a usual spelling such as "fp16"; or null.
[[nodiscard]] const onnx::DataTypeInfo* type_named(std::string_view name);

/// numpy.dtype of a caller's argument. Also accepts an onnxmap.DataType, which NumPy would take for
/// a number, and the name of a type that NumPy only knows after ml_dtypes has been imported.
[[nodiscard]] py::object dtype_of(const py::object& dtype);

/// The element type of a numpy.dtype in native byte order, or null if ONNX has none.
[[nodiscard]] const onnx::DataTypeInfo* find_type(const py::object& dtype);

/// A view of elements at `bytes` whose base is `owner`. It can never be made writable, unless
/// `bytes` belong to it alone. NumPy's `aligned` flag is right.
[[nodiscard]] py::object make_view(const onnx::DataTypeInfo& type,
                                   std::span<const std::int64_t> dims, ByteView bytes,
                                   const py::object& owner, bool writable = false);

/// A flat uint8 view of the bytes.
[[nodiscard]] py::object make_bytes_view(ByteView bytes, const py::object& owner);

/// An array that owns its memory.
[[nodiscard]] py::object make_owned(const onnx::DataTypeInfo& type,
                                    std::span<const std::int64_t> dims,
                                    std::shared_ptr<source::OwnedBytes> bytes, bool writable);

/// A fresh array of all values, converted. Strings become `str`, or `bytes` if they are not UTF-8.
/// Throws Error `tensor.*`.
[[nodiscard]] py::object read_array(tensor::Values& values, const tensor::Conversion& conversion,
                                    bool writable);

/// Fresh memory with all values as raw_data has them. Needs no lock. Throws Error `tensor.*`.
[[nodiscard]] std::shared_ptr<source::OwnedBytes> packed_copy(tensor::Values& values);

/// A read-only array: a view of the values if possible, otherwise fresh. The base of a view is
/// `owner`, which is made if it is null.
[[nodiscard]] py::object array_of(tensor::Values& values, py::object& owner);

/// Whether the object really is an ndarray. Its `__class__` is not trusted.
[[nodiscard]] bool is_array(const py::object& object);

/// The distance between neighbouring elements in each dimension. `step` is the distance in the last
/// dimension.
[[nodiscard]] std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> dims,
                                                          std::int64_t step);

/// Whether a view of these bytes is aligned for its type.
[[nodiscard]] bool is_aligned(const onnx::DataTypeInfo& type, ByteView bytes);

}  // namespace onnxmap::bindings
