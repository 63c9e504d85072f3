// The classes of messages. Their objects begin with a Handle, so that all of them share one code: a
// property for each field of the schema, `.proto`, equality, and errors that say which name to use.
#pragma once

#include <pybind11/pybind11.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "bindings/guarded.hpp"
#include "bindings/handles.hpp"
#include "bindings/message_equality.hpp"
#include "bindings/python_objects.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// The documentation of the property of a field.
struct FieldDoc {
    std::string_view field;
    const char* doc;
};

/// A property for one field of the message, of another name or the same one. All classes of
/// messages share this code: their objects begin with a Handle.
void bind_field(const py::object& cls, std::string_view message, std::string_view field,
                const char* property, const char* doc);

/// A property for each field of the message, except those in `except`. The name of a repeated
/// field's property is plural. A property without a documentation in `docs` has the full name of
/// its field, like "NodeProto.op_type".
void bind_fields(const py::object& cls, std::string_view message,
                 std::initializer_list<std::string_view> except = {},
                 std::initializer_list<FieldDoc> docs = {});

/// A property for the source message, and errors for wrong names that say which name to use.
/// Messages of this type become objects of the class.
void bind_proto(const py::object& cls, std::string_view message, Wrap wrap);

/// The class of a type of messages, with bind_proto() and equality.
template <class Class>
GuardedClass<Class> message_class(py::module_& module, std::string_view message, const char* doc) {
    static_assert(std::is_base_of_v<Handle, Class>);
    GuardedClass<Class> cls(module, Class::kClassName.text, doc, equality_slots());
    bind_proto(cls, message, [](Handle&& handle) { return make_object<Class>(std::move(handle)); });
    return cls;
}

/// The same for a type of messages whose class has no members but its fields.
void bind_plain(py::module_& module, std::string_view message, const char* doc);

}  // namespace onnxmap::bindings
