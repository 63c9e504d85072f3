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

/// A tuple of int, str (`dim_param`) or None (unknown).
[[nodiscard]] py::tuple dimensions(const std::vector<model::Dimension>& shape);

}  // namespace onnxmap::bindings
