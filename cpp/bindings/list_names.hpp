// The names of a list's elements for Python: positions by name, and errors that suggest names.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>

#include "model/list_names.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// The position of the element with this name. Throws KeyError, which suggests the names that are
/// most like it, and Error `model.duplicate_name`.
[[nodiscard]] std::uint32_t position_of(const model::ListNames& names, const py::object& name);

/// The name of a value as the file spells it; see name_in_file(). Throws TypeError and ValueError.
[[nodiscard]] std::string value_name(const py::object& name);

}  // namespace onnxmap::bindings
