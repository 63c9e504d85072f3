// Converts types of values to the classes of onnxmap.types.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

#include "bindings/handles.hpp"
#include "model/value_type.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// A TensorType, SequenceType, MapType ...
[[nodiscard]] py::object type_object(const model::ValueType& type);

/// The shape as a tuple of int, str (`dim_param`) or None (unknown); None if the rank is unknown.
[[nodiscard]] py::object shape_of(const model::ValueType& type);

}  // namespace onnxmap::bindings
