// New AttributeProtos, whose types follow from Python values.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>

#include "bindings/handles.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// Where a new attribute goes, and what it replaces.
struct AttributePlace {
    const Handle* beside = nullptr;  // external data stay external if this has the same folder
    std::int32_t list_type = 0;      // an AttributeType: that of an empty list; 0 if none is known
};

/// A new attribute of a number, a string, bytes, a tensor, a graph, a sparse tensor, a type, or a
/// list of values of one type; or a copy of an attribute under this name. Throws TypeError if the
/// value has no type of ONNX, and ValueError for a list that is empty or of different types.
[[nodiscard]] Handle attribute_of(const py::object& name, const py::object& value,
                                  const AttributePlace& place);

/// The same of a value that is not an attribute. `wanted`: the number of its AttributeType, or 0;
/// throws TypeError if the value has another one.
[[nodiscard]] Handle new_attribute(const py::object& name, const py::object& value,
                                   std::int32_t wanted, const Handle* beside = nullptr);

/// Gives an attribute another value; its name and documentation stay.
void set_attribute_value(const Attribute& attribute, const py::object& value);

}  // namespace onnxmap::bindings
