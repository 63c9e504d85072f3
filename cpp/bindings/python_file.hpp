// Writing bytes to what Python calls a file: a path, or an object with a `write` method.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>

#include "bindings/handles.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// Writes all bytes of a buffer to a file object, whose `write()` may take only a part of them.
/// Throws OSError if it takes no more.
void write_all(const py::object& file, const py::object& bytes);

/// Writes the bytes of Tensor.tobytes() to a path or a file object.
void write_values(const py::object& tensor, const py::object& file);

}  // namespace onnxmap::bindings
