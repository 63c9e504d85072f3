// How bound objects are displayed, and the equality of messages.
#pragma once

#include "bindings/guarded.hpp"
#include "bindings/message_equality.hpp"
#include "bindings/package_seam.hpp"

namespace onnxmap::bindings {

template <class Class>
void bind_repr(GuardedClass<Class>& cls) {
    cls.def("__repr__",
            unguarded([](const py::object& self) { return package::describe()(self, false); }));
}

/// A table for notebooks.
template <class Class>
void bind_html(GuardedClass<Class>& cls) {
    cls.def("_repr_html_",
            unguarded([](const py::object& self) { return package::describe()(self, true); }));
}

/// `__repr__`, `==` and a hash.
template <class Class>
void bind_display(GuardedClass<Class>& cls) {
    bind_repr(cls);
    bind_equality(cls);
}

/// The same, and a table for notebooks.
template <class Class>
void bind_html_display(GuardedClass<Class>& cls) {
    bind_display(cls);
    bind_html(cls);
}

}  // namespace onnxmap::bindings
