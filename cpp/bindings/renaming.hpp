// New names for values of a graph, as Python gives them.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/handles.hpp"
#include "model/rename.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// Renames values by their old names. Throws TypeError, KeyError for a name that no such value has,
/// and what model::Renaming::apply() throws.
void rename_values(const Graph& self, model::Renaming::Of values, const py::dict& new_names);

/// Throws KeyError, which suggests values that the graph or function `self` makes.
void fail_unknown_value(const Handle& self, const py::object& name);

}  // namespace onnxmap::bindings
