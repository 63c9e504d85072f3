// What each class of messages has for display, and its equality.
#pragma once

#include "bindings/guarded.hpp"
#include "bindings/message_equality.hpp"
#include "bindings/package_seam.hpp"

namespace onnxmap::bindings {

/// `__repr__`, `==` and a hash.
template <class Class>
void bind_display(GuardedClass<Class>& cls) {
    cls.def("__repr__",
            unguarded([](const py::object& self) { return package::describe()(self); }));
    bind_equality(cls);
}

/// The same, and a table for notebooks.
template <class Class>
void bind_html_display(GuardedClass<Class>& cls) {
    bind_display(cls);
    cls.def("_repr_html_",
            unguarded([](const py::object& self) { return package::describe_html()(self); }));
}

}  // namespace onnxmap::bindings
