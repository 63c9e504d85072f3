// Any field of any message as a Python value, by its row of the schema. The classes of messages and
// `.proto` use these functions. Apart from this file, only `.proto` names rows and wire types in
// the bindings.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "bindings/guarded.hpp"
#include "bindings/handles.hpp"
#include "bindings/python_objects.hpp"
#include "model/entry_rules.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// One value of a field of `parent` as a Python object. A message becomes an object of its class or
/// a ProtoView.
[[nodiscard]] py::object to_python(const DocumentPtr& document, const onnx::Message& parent,
                                   const wire::FieldRow& row, const wire::Field& value,
                                   bool as_proto);

/// The value of a singular field that is no message, or its default if it is absent.
[[nodiscard]] py::object scalar_value(const Handle& handle, const wire::FieldRow& row,
                                      bool as_proto);

/// All values of a repeated field: a list, or a MessageList for messages.
[[nodiscard]] py::object repeated_to_python(const Handle& handle, const wire::FieldRow& row,
                                            bool as_proto);

/// The value of a field in the form in which Node, Graph and the other classes give it: None for an
/// absent message, a mapping for strings by name.
[[nodiscard]] py::object property_value(const Handle& handle, const wire::FieldRow& row);

/// Sets a field as the other classes' properties do: a list replaces all values, a mapping all
/// entries, and a message or None the message.
void set_property(const Handle& handle, const wire::FieldRow& row, const py::object& value);

/// The row of a field by its name. Throws AttributeError.
[[nodiscard]] const wire::FieldRow& row_named(const Handle& handle, std::string_view name);

/// A name as protobuf takes it: a str, or bytes. Throws ValueError for other objects.
[[nodiscard]] std::string name_of_field(const py::object& given);

/// Whether fields of a message are the members of a oneof of this name.
[[nodiscard]] inline bool has_oneof(const wire::MessageTable& table, std::string_view name) {
    return !name.empty() &&
           std::ranges::find(table.fields, name, &wire::FieldRow::oneof) != table.fields.end();
}

}  // namespace onnxmap::bindings
