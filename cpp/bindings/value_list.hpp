// A repeated field of numbers or text as a list that writes to its message.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/handles.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

struct ValueList {
    DocumentPtr document;
    Handle parent;
    const wire::FieldRow* row;
    bool as_proto;
    Remade<py::list> remade = {};

    /// The values now. The list is not to be changed.
    [[nodiscard]] py::list values() const;
};

}  // namespace onnxmap::bindings
