// What the classes of the dense and the sparse initializers of a graph share: mappings of names to
// tensors.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "bindings/guarded.hpp"
#include "bindings/handles.hpp"
#include "bindings/initializer_names.hpp"
#include "bindings/mapping_class.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// Throws TypeError and ValueError for a name that no initializer can have.
inline void check_new_name(const py::object& name) {
    if (!py::isinstance<py::str>(name)) throw_python(package::wrong_name()("value", name));
    if (py::len(name) == 0) throw py::value_error("an initializer needs a name");
}

/// Throws ValueError if an initializer of the other class has the name.
template <class Other, class Mapping>
void check_free(const Mapping& self, const py::object& name, const char* others) {
    if (!below_guard(self, [&] { return has_name(Other{self}, name); })) return;
    throw py::value_error(to_printable(py::repr(name)) + " is a name of " + others +
                          " already: remove that one first");
}

/// Throws ValueError if the value of an initializer is used.
template <class Mapping>
void check_unused(const Mapping& self, const py::object& name) {
    const auto text = name_in_file(name);
    if (!text) return;
    const py::object user = below_guard(self, [&]() -> py::object {
        if (!has_name(self, name)) return py::none();
        static_cast<void>(self.document->check_for_changes());
        auto found = self.graph()->first_user(*text);
        return found ? wrap_message({self.document, *std::move(found)}) : py::none();
    });
    if (user.is_none()) return;
    throw py::value_error("initializer " + to_printable(py::repr(name)) + " is used by " +
                          to_printable(py::repr(user)) + ": change what uses it first");
}

template <class Mapping>
GuardedClass<Mapping> bind_by_name(py::module_& module, const char* name, const char* field,
                                   const char* doc) {
    auto cls = bind_mapping_class<Mapping>(module, name, doc);
    cls.def(
           "get",
           [](const Mapping& self, const py::object& key, const py::object& otherwise) {
               return has_name(self, key) ? item_of(self, key) : otherwise;
           },
           py::arg("key"), py::arg("default") = py::none(),
           R"(Return the tensor of this name, or `default`.

It costs as little as `in`: the error of `[]` suggests names, which takes a millisecond.)")
        .def(
            "all",
            [field](const Mapping& self) {
                return py::iter(repeated_to_python(self, row_named(self, field), false));
            },
            "Return an iterator over every tensor in file order, repeated and unnamed ones "
            "included.")
        .def("setdefault", edits(set_default<Mapping>), py::arg("name"),
             py::arg("values") = py::none(),
             "Return the initializer of a name; if there is none, add one with these values first.")
        .def("pop", edits([](const Mapping& self, const py::object& key) {
                 return pop_item(self, key, {});
             }),
             py::arg("key"), "Remove an initializer and return its tensor.")
        .def("pop", edits(pop_item<Mapping>), py::arg("key"), py::arg("default"),
             "If there is no such initializer, return the default.");
    return cls;
}

}  // namespace onnxmap::bindings
