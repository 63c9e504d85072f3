// The mappings of messages: attributes, metadata and other strings, and versions of operator sets.
#include <tuple>

#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/field_mapping.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/sequence_class.hpp"

namespace onnxmap::bindings {

namespace {

py::object borrowed(PyObject* object) { return py::reinterpret_borrow<py::object>(object); }

[[noreturn]] void fail_no_key(const py::object& key) {
    // A bare tuple would become the arguments of the error.
    PyErr_SetObject(PyExc_KeyError, py::make_tuple(key).ptr());
    throw py::error_already_set();
}

template <class Mapping>
PyObject* subscript(PyObject* self, PyObject* key) {
    return call_for_python([&] {
        const FieldMapping& mapping = cpp_value<Mapping>(self);
        py::object found = below_guard(mapping, [&] { return find_value(mapping, borrowed(key)); });
        if (!found) fail_no_key(borrowed(key));
        return found;
    });
}

template <class Mapping>
int assign_subscript(PyObject* self, PyObject* key, PyObject* value) {
    return number_for_python([&] {
        const FieldMapping& mapping = cpp_value<Mapping>(self);
        if (value != nullptr) {
            set_entry(mapping, borrowed(key), borrowed(value));
        } else if (!remove_entries(mapping, borrowed(key))) {
            fail_no_key(borrowed(key));
        }
        return 0;
    });
}

template <class Mapping>
int contains(PyObject* self, PyObject* key) {
    return number_for_python([&] {
        const FieldMapping& mapping = cpp_value<Mapping>(self);
        return below_guard(mapping, [&] { return has_entry(mapping, borrowed(key)); }) ? 1 : 0;
    });
}

template <class Mapping>
Py_ssize_t count(PyObject* self) {
    return number_for_python([&] {
        const FieldMapping& mapping = cpp_value<Mapping>(self);
        return below_guard(mapping, [&] { return static_cast<Py_ssize_t>(count_names(mapping)); });
    });
}

py::list names_of(const FieldMapping& self) {
    const auto entries = entries_of(self);
    py::list names(entries->names.size());
    for (std::uint32_t i = 0; i < entries->names.size(); ++i) {
        PyList_SET_ITEM(names.ptr(), i, to_str(entries->names.name(i)).release().ptr());
    }
    return names;
}

template <class Mapping>
PyObject* iterate_names(PyObject* self) {
    return call_for_python([&] {
        const FieldMapping& mapping = cpp_value<Mapping>(self);
        return py::iter(below_guard(mapping, [&] { return names_of(mapping); }));
    });
}

py::dict items_of(const FieldMapping& self) {
    const auto entries = entries_of(self);
    py::dict items;
    for (std::uint32_t i = 0; i < entries->names.size(); ++i) {
        items[to_str(entries->names.name(i))] = value_of(self, entries->counting[i]);
    }
    return items;
}

// `otherwise`: null if there is no default.
py::object pop_key(const FieldMapping& self, const py::object& key, const py::object& otherwise) {
    const py::object value = below_guard(self, [&] { return find_value(self, key); });
    if (value && remove_entries(self, key)) return value;
    if (!otherwise) fail_no_key(key);
    return otherwise;
}

py::object set_default(const FieldMapping& self, const py::object& key, const py::object& value) {
    const auto find = [&] { return below_guard(self, [&] { return find_value(self, key); }); };
    if (py::object found = find()) return found;
    set_entry(self, key, value);
    return find();
}

bool is_mapping(const py::object& object) { return py::hasattr(object, "keys"); }

py::object merged(py::dict items, const py::object& others) {
    items.attr("update")(others);
    return items;
}

// Adds the methods that collections.abc.MutableMapping derives from the methods of the class.
void derive_mapping(const py::object& cls) {
    const py::object& mixin = python_object<"collections.abc", "MutableMapping">();
    for (const char* const each : {"__eq__", "items", "keys", "popitem", "update", "values"}) {
        py::setattr(cls, each, mixin.attr(each));
    }
    make_generic(cls);
    // Lets `match` see a mapping. register() does not do that for sealed classes.
    reinterpret_cast<PyTypeObject*>(cls.ptr())->tp_flags |= Py_TPFLAGS_MAPPING;
    mixin.attr("register")(cls);
}

template <class Mapping>
void bind_mapping(py::module_& module, const char* name, const char* doc) {
    GuardedClass<Mapping> cls(
        module, name, doc,
        {{Py_tp_iter, reinterpret_cast<void*>(iterate_names<Mapping>)},
         {Py_tp_hash, reinterpret_cast<void*>(PyObject_HashNotImplemented)},
         {Py_mp_length, reinterpret_cast<void*>(count<Mapping>)},
         {Py_mp_subscript, reinterpret_cast<void*>(subscript<Mapping>)},
         {Py_mp_ass_subscript, reinterpret_cast<void*>(assign_subscript<Mapping>)},
         {Py_sq_contains, reinterpret_cast<void*>(contains<Mapping>)}});
    cls.def(
           "get",
           [](const Mapping& self, const py::object& key, const py::object& otherwise) {
               const py::object found = find_value(self, key);
               return found ? found : otherwise;
           },
           py::arg("key"), py::arg("default") = py::none(),
           "Return the value of a key, or `default`.")
        .def("setdefault",
             unguarded([](const Mapping& self, const py::object& key, const py::object& value) {
                 return set_default(self, key, value);
             }),
             py::arg("key"), py::arg("default") = py::none(),
             "Return the value of a key; if there is none, give it the default first.")
        .def("pop", unguarded([](const Mapping& self, const py::object& key) {
                 return pop_key(self, key, {});
             }),
             py::arg("key"), "Remove a key and return its value.")
        .def("pop",
             unguarded([](const Mapping& self, const py::object& key, const py::object& otherwise) {
                 return pop_key(self, key, otherwise);
             }),
             py::arg("key"), py::arg("default"), "If there is no such key, return the default.")
        .def("clear", unguarded([](const Mapping& self) { replace_all(self, *self.row, {}); }),
             "Remove all entries.")
        .def("__repr__", [](const Mapping& self) { return py::repr(items_of(self)); })
        .def("__reduce__",
             [](const Mapping& self) {
                 return py::make_tuple(python_object<"builtins", "dict">(),
                                       py::make_tuple(items_of(self)));
             })
        .def("__or__",
             [](const Mapping& self, const py::object& other) {
                 return is_mapping(other) ? merged(items_of(self), other)
                                          : borrowed(Py_NotImplemented);
             })
        .def("__ror__",
             [](const Mapping& self, const py::object& other) {
                 return is_mapping(other) ? merged(new_dict(other), items_of(self))
                                          : borrowed(Py_NotImplemented);
             })
        .def("__ior__", unguarded([](const py::object& self, const py::object& other) {
                 std::ignore = checked_value<Mapping>(self);
                 self.attr("update")(other);
                 return self;
             }))
        .def("_ipython_key_completions_", [](const Mapping& self) { return names_of(self); });
    derive_mapping(cls);
}

}  // namespace

void bind_mappings(py::module_& module) {
    bind_mapping<AttributeMapping>(module, "AttributeMapping",
                                   R"(Attributes by name, in file order.

A new value is a number, text, bytes, list, array, Tensor, Graph or type, or an Attribute, which is
copied. If a name is repeated, its last attribute counts, and you get a RepeatedKeyWarning. A copy or
a pickle is a dict.)");
    bind_mapping<OpsetMapping>(module, "OpsetMapping",
                               R"(Versions of operator sets by domain.

If a domain is repeated, its highest version counts. A copy or a pickle is a dict.)");
    bind_mapping<StringMapping>(module, "StringMapping",
                                R"(Strings by key, such as `metadata_props`.

If a key is repeated, its last value counts, and you get a RepeatedKeyWarning. A copy or a pickle is
a dict.)");
}

}  // namespace onnxmap::bindings
