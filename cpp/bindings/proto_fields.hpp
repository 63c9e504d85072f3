// Any field of any message as a Python value, by its row of the schema. The classes of messages and
// `.proto` use these functions. Apart from this file, only `.proto` names rows and wire types in
// the bindings.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <initializer_list>
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

/// The documentation of the property of a field.
struct FieldDoc {
    std::string_view field;
    const char* doc;
};

/// Raises AttributeError for a name that an object of a message lacks. The error says which name to
/// use. Returns null. For slots.
PyObject* explain_missing(PyObject* self, std::string_view message, PyObject* name) noexcept;

/// What the error says of an assignment to a property that cannot be assigned.
[[nodiscard]] std::string read_only(std::string_view cls, std::string_view property);

/// The tp_setattro of a class with bind_proto(): to assign to an unknown name raises the same error
/// as to read it, and other errors say what to do instead.
int set_or_explain(PyObject* self, PyObject* name, PyObject* value);

/// A property for one field of the message, of another name or the same one.
template <class Class>
void bind_field(GuardedClass<Class>& cls, std::string_view message, std::string_view field,
                const char* property, const char* doc) {
    const wire::FieldRow& row = *onnx::find_message(message)->find(field);
    cls.def_property(
        property, [&row](const Class& self) { return property_value(self, row); },
        [&row](const Class& self, const py::object& value) { set_property(self, row, value); },
        doc);
}

/// A property for the source message, and errors for wrong names that say which name to use.
/// Messages of this type become objects of the class.
template <class Class>
void bind_proto(GuardedClass<Class>& cls, std::string_view message) {
    wrapper_of(message) = [](Handle&& handle) { return make_object<Class>(std::move(handle)); };
    cls.def_property_readonly(
        "proto", [](const Class& self) { return ProtoView{self}; },
        "The source message under the exact names of onnx.proto.");
    PyTypeObject* const type = native_type<Class>;
    type->tp_getattro = [](PyObject* self, PyObject* name) {
        PyObject* const found = PyObject_GenericGetAttr(self, name);
        if (found != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return found;
        return explain_missing(self, cpp_value<Class>(self).made.table().name, name);
    };
    type->tp_setattro = set_or_explain;
}

/// A property for each field of the message, except those in `except`, and bind_proto(). The name
/// of a repeated field's property is plural. A property without a documentation in `docs` has the
/// full name of its field, like "NodeProto.op_type".
template <class Class>
void bind_fields(GuardedClass<Class>& cls, std::string_view message,
                 std::initializer_list<std::string_view> except = {},
                 std::initializer_list<FieldDoc> docs = {}) {
    for (const wire::FieldRow& row : onnx::find_message(message)->fields) {
        if (std::ranges::find(except, row.name) != except.end()) continue;
        std::string name(row.name);
        const std::string full_name = std::string(message) + "." + name;
        if (row.repeated() && !name.ends_with('s')) name += 's';
        const auto* const found = std::ranges::find(docs, row.name, &FieldDoc::field);
        bind_field(cls, message, row.name, name.c_str(),
                   found != docs.end() ? found->doc : full_name.c_str());
    }
    bind_proto(cls, message);
}

}  // namespace onnxmap::bindings
