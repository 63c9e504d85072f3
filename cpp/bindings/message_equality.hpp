// Equality of bound messages. Two objects of one message are equal, and messages with equal content
// are. Equal messages have the same hash.
#pragma once

#include "bindings/guarded.hpp"
#include "bindings/handles.hpp"
#include "bindings/proto_fields.hpp"

namespace onnxmap::bindings {

/// Whether both have the same content; see model/equality.hpp.
[[nodiscard]] bool is_equal(const Handle& a, const Handle& b);

/// See model/message_hash.hpp.
[[nodiscard]] py::ssize_t hash_of(const Handle& handle);

template <class Class>
void bind_equality(GuardedClass<Class>& cls) {
    // For any other object, Python then asks that object.
    cls.def(
           "__eq__", [](const Class& a, const Class& b) { return is_equal(a, b); },
           py::is_operator())
        .def("__hash__", [](const Class& self) { return hash_of(self); });
}

}  // namespace onnxmap::bindings
