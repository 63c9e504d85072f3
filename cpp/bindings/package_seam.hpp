// The functions and classes of the Python package that the bindings use. No other C++ file names a
// module of the package. The architecture test reads these rows.
#pragma once

#include "bindings/python_objects.hpp"

/// `package::describe()` returns the Python function itself. Its module is imported at the first
/// use.
namespace onnxmap::bindings::package {

inline constexpr auto attribute_of = python_object<"onnxmap._new_attributes", "attribute_of">;
inline constexpr auto attribute_type = python_object<"onnxmap._enums", "AttributeType">;
inline constexpr auto data_type = python_object<"onnxmap._enums", "DataType">;
inline constexpr auto describe = python_object<"onnxmap._display", "describe">;
inline constexpr auto describe_html = python_object<"onnxmap._display", "describe_html">;
inline constexpr auto external_data = python_object<"onnxmap.types", "ExternalData">;
inline constexpr auto graph = python_object<"onnxmap._graph", "Graph">;
inline constexpr auto make_error = python_object<"onnxmap.errors", "make_error">;
inline constexpr auto map_type = python_object<"onnxmap.types", "MapType">;
inline constexpr auto message_type = python_object<"onnxmap._schema", "message_type">;
inline constexpr auto missing_attribute = python_object<"onnxmap._names", "missing_attribute">;
inline constexpr auto missing_field = python_object<"onnxmap._names", "missing_field">;
inline constexpr auto not_a_name = python_object<"onnxmap._names", "not_a_name">;
inline constexpr auto opaque_type = python_object<"onnxmap.types", "OpaqueType">;
inline constexpr auto operator_status = python_object<"onnxmap._enums", "OperatorStatus">;
inline constexpr auto optional_type = python_object<"onnxmap.types", "OptionalType">;
inline constexpr auto read_slice = python_object<"onnxmap._slicing", "read_slice">;
inline constexpr auto reduce_tensor = python_object<"onnxmap._pickling", "reduce_tensor">;
inline constexpr auto sequence_type = python_object<"onnxmap.types", "SequenceType">;
inline constexpr auto sparse_tensor_type = python_object<"onnxmap.types", "SparseTensorType">;
inline constexpr auto set_dtype = python_object<"onnxmap._new_types", "set_dtype">;
inline constexpr auto set_shape = python_object<"onnxmap._new_types", "set_shape">;
inline constexpr auto set_type = python_object<"onnxmap._new_types", "set_type">;
inline constexpr auto set_value = python_object<"onnxmap._new_attributes", "set_value">;
inline constexpr auto tensor_type = python_object<"onnxmap.types", "TensorType">;
inline constexpr auto to_dict = python_object<"onnxmap._proto_json", "to_dict">;
inline constexpr auto to_json = python_object<"onnxmap._proto_json", "to_json">;
inline constexpr auto to_dense = python_object<"onnxmap._sparse", "to_dense">;
inline constexpr auto to_ir = python_object<"onnxmap.interop.ir", "to_ir">;
inline constexpr auto to_scipy = python_object<"onnxmap._sparse", "to_scipy">;
inline constexpr auto to_torch = python_object<"onnxmap.interop.torch", "to_torch">;
inline constexpr auto unknown_key = python_object<"onnxmap._names", "unknown_key">;
inline constexpr auto use = python_object<"onnxmap._graph", "Use">;
inline constexpr auto verify_tensor = python_object<"onnxmap._checksums", "verify_tensor">;
inline constexpr auto warn_overlooked = python_object<"onnxmap.errors", "warn_overlooked">;
inline constexpr auto warn_repeated = python_object<"onnxmap.errors", "warn_repeated">;
inline constexpr auto wrong_index = python_object<"onnxmap._names", "wrong_index">;
inline constexpr auto write_values = python_object<"onnxmap._tofile", "write_values">;

}  // namespace onnxmap::bindings::package
