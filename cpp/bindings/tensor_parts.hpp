// Parts of tensors by NumPy's indices, read without the rest.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/handles.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// `tensor.numpy()[key]`. Basic indices of stored bytes read only the elements that they need; the
/// result is then a new array that cannot be written to, or a scalar.
[[nodiscard]] py::object part_of(const Tensor& tensor, const py::object& key);

/// The smallest box that holds what the keys select, and the keys relative to the box. `keys`: for
/// each axis an int, a slice or a list of positions. The values are stored as bytes.
[[nodiscard]] py::tuple box_of(const Tensor& tensor, const py::tuple& keys);

}  // namespace onnxmap::bindings
