#include "bindings/message_class.hpp"

#include <algorithm>
#include <map>

#include "bindings/package_seam.hpp"
#include "bindings/proto_fields.hpp"

namespace onnxmap::bindings {

namespace {

// The tp_getattro of a class of messages: the error for an unknown name says which name to use.
PyObject* get_or_explain(PyObject* self, PyObject* name) {
    PyObject* const found = PyObject_GenericGetAttr(self, name);
    if (found != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return found;
    PyErr_Clear();
    return call_for_python([&]() -> py::object {
        throw_python(package::wrong_name()("attribute", py::type::of(py::handle(self)),
                                           handle_of(self).made.table().name,
                                           py::reinterpret_borrow<py::object>(name)));
    });
}

// The tp_setattro: to assign to an unknown name raises the same error as to read it, and other
// errors say what to do instead.
int set_or_explain(PyObject* self, PyObject* name, PyObject* value) {
    PyObject* const cls = reinterpret_cast<PyObject*>(Py_TYPE(self));
    const auto member = py::reinterpret_steal<py::object>(PyObject_GetAttr(cls, name));
    if (!member) {
        PyErr_Clear();
        Py_XDECREF(PyObject_GetAttr(self, name));
        return PyErr_Occurred() != nullptr ? -1 : PyObject_GenericSetAttr(self, name, value);
    }
    const bool is_assignable =
        Py_IS_TYPE(member.ptr(), &PyGetSetDescr_Type) != 0 &&
        reinterpret_cast<PyGetSetDescrObject*>(member.ptr())->d_getset->set != nullptr;
    if (is_assignable && value != nullptr) return PyObject_GenericSetAttr(self, name, value);
    return number_for_python([&] {
        const std::string property = to_printable(py::reinterpret_borrow<py::str>(name));
        if (property.starts_with('_')) return PyObject_GenericSetAttr(self, name, value);
        if (!is_assignable) throw_python(package::read_only()(type_name(self), property));
        throw py::attribute_error(type_name(self) + "." + property +
                                  " cannot be deleted; .proto.ClearField() removes the value of a "
                                  "field");
    });
}

const wire::FieldRow& row_of(void* closure) noexcept {
    return *static_cast<const wire::FieldRow*>(closure);
}

PyObject* get_field(PyObject* self, void* closure) {
    return call_for_python([&] {
        const Handle& handle = handle_of(self);
        return below_guard(handle, [&] { return property_value(handle, row_of(closure)); });
    });
}

int set_field(PyObject* self, PyObject* value, void* closure) {
    if (value == nullptr) {
        PyErr_SetString(PyExc_AttributeError, "a property cannot be deleted");
        return -1;
    }
    const auto set = guarded(edits([&](const Handle& handle, const py::object& given) {
        set_property(handle, row_of(closure), given);
    }));
    return number_for_python([&] {
        set(handle_of(self), py::reinterpret_borrow<py::object>(value));
        return 0;
    });
}

PyObject* get_proto(PyObject* self, void*) {
    return call_for_python([&] { return make_object<ProtoView>(handle_of(self)); });
}

PyTypeObject* type_of(const py::object& cls) { return reinterpret_cast<PyTypeObject*>(cls.ptr()); }

// A message whose class has no members but its fields. The classes share this type.
struct PlainMessage : Handle {};

}  // namespace

void bind_field(const py::object& cls, std::string_view message, std::string_view field,
                const char* property, const char* doc) {
    const wire::FieldRow* const row = onnx::find_message(message)->find(field);
    detail::add_property(type_of(cls),
                         {property, get_field, set_field, doc, const_cast<wire::FieldRow*>(row)});
}

void bind_fields(const py::object& cls, std::string_view message,
                 std::initializer_list<std::string_view> except,
                 std::initializer_list<FieldDoc> docs) {
    for (const wire::FieldRow& row : onnx::find_message(message)->fields) {
        if (std::ranges::find(except, row.name) != except.end()) continue;
        std::string name(row.name);
        const std::string full_name = std::string(message) + "." + name;
        if (row.repeated() && !name.ends_with('s')) name += 's';
        const auto* const found = std::ranges::find(docs, row.name, &FieldDoc::field);
        bind_field(cls, message, row.name, name.c_str(),
                   found != docs.end() ? found->doc : full_name.c_str());
    }
}

void bind_proto(const py::object& cls, std::string_view message, Wrap wrap) {
    wrapper_of(message) = wrap;
    PyTypeObject* const type = type_of(cls);
    detail::add_property(type,
                         {"proto", get_proto, nullptr,
                          "The source message under the exact names of onnx.proto.", nullptr});
    type->tp_getattro = get_or_explain;
    type->tp_setattro = set_or_explain;
}

void bind_plain(py::module_& module, std::string_view message, const char* doc) {
    static std::map<const wire::MessageTable*, PyTypeObject*> types;
    const Wrap wrap = [](Handle&& handle) {
        PyTypeObject* const type = types.at(&handle.made.table());
        return make_object_of<PlainMessage>(type, std::move(handle));
    };
    wrapper_of(message) = wrap;  // class_name() asks for it
    PyTypeObject* const type = detail::make_native_type(
        module, class_name(message).c_str(), doc, sizeof(NativeObject<PlainMessage>),
        detail::dealloc<PlainMessage>, equality_slots());
    types[onnx::find_message(message)] = type;
    const auto cls = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(type));
    bind_fields(cls, message);
    bind_proto(cls, message, wrap);
}

}  // namespace onnxmap::bindings
