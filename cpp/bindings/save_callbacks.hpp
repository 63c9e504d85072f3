// What a save asks of Python.
#pragma once

#include "bindings/handles.hpp"
#include "save/callbacks.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// `locations_in_text`: returns the external locations of a model that is a text, as bytes, by its
/// path; None if the file is no text.
[[nodiscard]] save::Callbacks save_callbacks(const py::object& locations_in_text);

}  // namespace onnxmap::bindings
