// Equality of bound messages: two objects of the same message are equal and have the same hash. Two
// different messages are never equal, whatever they contain.
#pragma once

#include <cstdint>

#include "bindings/guarded.hpp"

namespace onnxmap::bindings {

/// Whether both are views of the same bytes of the same document.
[[nodiscard]] inline bool is_same_message(const Handle& a, const Handle& b) {
    const std::size_t count = a.message.piece_count();
    bool same = a.document == b.document && &a.message.table() == &b.message.table() &&
                count == b.message.piece_count();
    for (std::size_t i = 0; same && i < count; ++i) {
        same = a.message.piece(i).data() == b.message.piece(i).data() &&
               a.message.piece(i).size() == b.message.piece(i).size();
    }
    return same;
}

template <class Class>
void bind_equality(GuardedClass<Class>& cls) {
    // Unguarded, because no byte is read. For any other object, Python then asks that object.
    static_cast<py::class_<Class>&>(cls)
        .def(
            "__eq__", [](const Class& a, const Class& b) { return is_same_message(a, b); },
            py::is_operator())
        .def("__hash__", [](const Class& self) {
            return reinterpret_cast<std::uintptr_t>(self.message.piece(0).data());
        });
}

}  // namespace onnxmap::bindings
