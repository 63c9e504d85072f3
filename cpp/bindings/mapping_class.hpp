// Mappings: what the classes of fields by name and of tensors by name share.
//
// Such a class has these functions: item_of(), which throws KeyError, has_name(), count_names() and
// names_of(), which need a guard; set_item() and remove_item().
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>

#include "bindings/guarded.hpp"
#include "bindings/python_objects.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

inline py::object borrowed(PyObject* object) { return py::reinterpret_borrow<py::object>(object); }

template <class Mapping>
PyObject* find_item(PyObject* self, PyObject* key) {
    return call_for_python([&] {
        const Mapping& mapping = cpp_value<Mapping>(self);
        return below_guard(mapping, [&] { return item_of(mapping, borrowed(key)); });
    });
}

template <class Mapping>
int contains_name(PyObject* self, PyObject* key) {
    return number_for_python([&] {
        const Mapping& mapping = cpp_value<Mapping>(self);
        return below_guard(mapping, [&] { return has_name(mapping, borrowed(key)); }) ? 1 : 0;
    });
}

template <class Mapping>
Py_ssize_t count_items(PyObject* self) {
    return number_for_python([&] {
        const Mapping& mapping = cpp_value<Mapping>(self);
        return below_guard(mapping, [&] { return static_cast<Py_ssize_t>(count_names(mapping)); });
    });
}

template <class Mapping>
PyObject* iterate_names(PyObject* self) {
    return call_for_python([&] {
        const Mapping& mapping = cpp_value<Mapping>(self);
        return py::iter(below_guard(mapping, [&] { return names_of(mapping); }));
    });
}

template <class Mapping>
int set_or_remove(PyObject* self, PyObject* key, PyObject* value) {
    return number_for_python([&] {
        const Mapping& mapping = cpp_value<Mapping>(self);
        const EditLock lock(mapping.document);
        if (value != nullptr) {
            set_item(mapping, borrowed(key), borrowed(value));
        } else {
            remove_item(mapping, borrowed(key));
        }
        return 0;
    });
}

/// The setdefault() of a mapping.
template <class Mapping>
py::object set_default(const Mapping& self, const py::object& key, const py::object& value) {
    if (!below_guard(self, [&] { return has_name(self, key); })) set_item(self, key, value);
    return below_guard(self, [&] { return item_of(self, key); });
}

/// The pop() of a mapping. `otherwise`: null if there is no default.
template <class Mapping>
py::object pop_item(const Mapping& self, const py::object& key, const py::object& otherwise) {
    // The error of item_of() may suggest names, which takes a millisecond.
    if (otherwise && !below_guard(self, [&] { return has_name(self, key); })) return otherwise;
    py::object item = below_guard(self, [&] { return item_of(self, key); });
    remove_item(self, key);
    return item;
}

template <class Mapping>
GuardedClass<Mapping> bind_mapping_class(py::module_& module, const char* name, const char* doc) {
    return GuardedClass<Mapping>(
        module, name, doc,
        {{Py_tp_iter, reinterpret_cast<void*>(iterate_names<Mapping>)},
         {Py_tp_hash, reinterpret_cast<void*>(PyObject_HashNotImplemented)},
         {Py_mp_length, reinterpret_cast<void*>(count_items<Mapping>)},
         {Py_mp_subscript, reinterpret_cast<void*>(find_item<Mapping>)},
         {Py_mp_ass_subscript, reinterpret_cast<void*>(set_or_remove<Mapping>)},
         {Py_sq_contains, reinterpret_cast<void*>(contains_name<Mapping>)}});
}

}  // namespace onnxmap::bindings
