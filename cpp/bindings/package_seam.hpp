// What the core calls in the Python package: enums, types and errors. No other C++ file names a
// module of the package. The architecture test reads these rows.
#pragma once

#include "bindings/python_objects.hpp"

/// `package::warn()` returns the Python function itself. Its module is imported at the first
/// use.
namespace onnxmap::bindings::package {

/// No row of the table: the rows are imported by it.
[[nodiscard]] inline py::object import_module(const char* name) {
    return py::module_::import("onnxmap._base.later").attr("import_module")(name);
}

inline constexpr auto enums = python_object<"onnxmap._base.enums", "ENUMS">;
inline constexpr auto make_error = python_object<"onnxmap.errors", "make_error">;
inline constexpr auto read_only = python_object<"onnxmap._show.wrong_values", "read_only">;
inline constexpr auto value_types = python_object<"onnxmap.types", "VALUE_TYPES">;
inline constexpr auto warn = python_object<"onnxmap.errors", "warn">;
inline constexpr auto wrong_message = python_object<"onnxmap._show.wrong_values", "wrong_message">;
inline constexpr auto wrong_name = python_object<"onnxmap._show.unknown_names", "wrong_name">;

}  // namespace onnxmap::bindings::package
