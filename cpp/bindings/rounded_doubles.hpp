// Doubles on their way into types that NumPy lacks.
#pragma once

#include <pybind11/pybind11.h>

#include "onnx/data_type.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// A contiguous array as NumPy should cast it to the type `to`: ml_dtypes rounds a double twice,
/// first to float32. So doubles become float32 numbers that it rounds as they should be rounded;
/// other arrays stay.
[[nodiscard]] py::object castable_to(const onnx::DataTypeInfo& to, const py::object& array,
                                     const onnx::DataTypeInfo& type);

}  // namespace onnxmap::bindings
