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

/// Whether an object is one of onnxmap.types, such as a TensorType.
[[nodiscard]] bool is_type_object(const py::handle& object);

/// A TypeProto of one of onnxmap.types, or of a pair of element type and shape; anything else, such
/// as a TypeProto, is returned as it is. Throws ValueError and TypeError for a type that ONNX
/// lacks.
[[nodiscard]] py::object type_message(const py::object& type);

/// Sets the type of a ValueInfoProto, or removes it if it is None; the element type, or the shape
/// of a tensor.
void set_type(const ValueInfo& info, const py::object& type);
void set_element_type(const ValueInfo& info, const py::object& type);
void set_shape(const ValueInfo& info, const py::object& shape);

/// A tuple of int, str (`dim_param`) or None (unknown).
[[nodiscard]] py::tuple dimensions(const std::vector<model::Dimension>& shape);

}  // namespace onnxmap::bindings
