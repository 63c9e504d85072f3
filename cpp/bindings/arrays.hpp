// NumPy arrays over the bytes of a source. The only place that makes them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "bindings/python_objects.hpp"
#include "source/owned_bytes.hpp"
#include "tensor/values.hpp"

namespace onnxmap::bindings {

/// What keeps a source alive as the base of arrays. One serves any number of arrays.
[[nodiscard]] py::object make_owner(std::shared_ptr<const source::Source> source);

/// numpy.dtype of an element type; imports ml_dtypes where NumPy lacks it.
[[nodiscard]] py::object numpy_dtype(const onnx::DataTypeInfo& type);

/// numpy.dtype of what a caller may write for one: also an onnxmap.DataType, which is a number to
/// NumPy, and the name of a type that NumPy knows only once ml_dtypes has been imported.
[[nodiscard]] py::object dtype_of(const py::object& dtype);

/// The element type of a numpy.dtype in native byte order, or null where ONNX has none.
[[nodiscard]] const onnx::DataTypeInfo* find_type(const py::object& dtype);

/// A view of elements at `bytes` whose base is `owner`. It is read-only for good, unless `bytes`
/// belong to it alone. NumPy's `aligned` flag is right.
[[nodiscard]] py::object make_view(const onnx::DataTypeInfo& type,
                                   std::span<const std::int64_t> dims, ByteView bytes,
                                   const py::object& owner, bool writable = false);

/// Flat bytes as uint8.
[[nodiscard]] py::object make_bytes_view(ByteView bytes, const py::object& owner);

/// An array of memory that was made for it.
[[nodiscard]] py::object make_owned(const onnx::DataTypeInfo& type,
                                    std::span<const std::int64_t> dims,
                                    std::shared_ptr<source::OwnedBytes> bytes, bool writable);

/// A fresh array of all values, converted. Strings are `str`, or `bytes` where they are not UTF-8.
/// Throws Error `tensor.*`.
[[nodiscard]] py::object read_array(tensor::Values& values, const tensor::Conversion& conversion,
                                    bool writable);

/// A read-only array: a view of the values, whose base is `owner` (made if it is null), where they
/// can be looked at, otherwise fresh.
[[nodiscard]] py::object array_of(tensor::Values& values, py::object& owner);

/// Whether it is an ndarray, and does not only say so.
[[nodiscard]] bool is_array(const py::object& object);

/// How far elements next to each other are in each dimension, in units of the last one's `step`.
[[nodiscard]] std::vector<std::int64_t> row_major_strides(std::span<const std::int64_t> dims,
                                                          std::int64_t step);

/// Whether a view of these bytes is aligned for its type.
[[nodiscard]] bool is_aligned(const onnx::DataTypeInfo& type, ByteView bytes);

}  // namespace onnxmap::bindings
