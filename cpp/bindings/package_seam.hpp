// What the core calls in the Python package: enums, types, errors, display and other libraries. No
// other C++ file names a module of the package. The architecture test reads these rows.
#pragma once

#include "bindings/python_objects.hpp"

/// `package::describe()` returns the Python function itself. Its module is imported at the first
/// use.
namespace onnxmap::bindings::package {

/// No row of the table: the rows are imported by it.
[[nodiscard]] inline py::object import_module(const char* name) {
    return py::module_::import("onnxmap._base.later").attr("import_module")(name);
}

inline constexpr auto check_operator_set =
    python_object<"onnxmap._read.checks", "check_operator_set">;
inline constexpr auto describe = python_object<"onnxmap._show.display", "describe">;
inline constexpr auto descriptor = python_object<"onnxmap.interop.from_libraries", "descriptor">;
inline constexpr auto enums = python_object<"onnxmap._base.enums", "ENUMS">;
inline constexpr auto external_data = python_object<"onnxmap.types", "ExternalData">;
inline constexpr auto make_error = python_object<"onnxmap.errors", "make_error">;
inline constexpr auto reduce_tensor =
    python_object<"onnxmap._read.pickled_tensors", "reduce_tensor">;
inline constexpr auto to_ir = python_object<"onnxmap.interop.ir", "to_ir">;
inline constexpr auto to_scipy = python_object<"onnxmap.interop.scipy", "to_scipy">;
inline constexpr auto to_torch = python_object<"onnxmap.interop.torch", "to_torch">;
inline constexpr auto use = python_object<"onnxmap.types", "Use">;
inline constexpr auto value_types = python_object<"onnxmap.types", "VALUE_TYPES">;
inline constexpr auto verify_tensor = python_object<"onnxmap._read.checksums", "verify_tensor">;
inline constexpr auto warn = python_object<"onnxmap.errors", "warn">;
inline constexpr auto wrong_name = python_object<"onnxmap._show.unknown_names", "wrong_name">;

}  // namespace onnxmap::bindings::package
