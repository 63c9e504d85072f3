#include "bindings/message_equality.hpp"

#include "bindings/guarded.hpp"
#include "bindings/interpreter_lock.hpp"
#include "model/equality.hpp"
#include "model/message_hash.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::bindings {

bool is_equal(const Handle& a, const Handle& b) {
    if (is_same(a, b)) return true;
    for (const Handle* each : {&a, &b}) {
        each->document->store().check_unchanged(each->document->source(), source::kRecently);
    }
    const WithoutLock unlocked;
    return source::guard_reads(a.document->source(), [&] {
        return source::guard_reads(b.document->source(), [&] {
            return model::equal(*a.document, a.message(), *b.document, b.message());
        });
    });
}

py::ssize_t hash_of(const Handle& handle) {
    handle.document->store().check_unchanged(handle.document->source(), source::kRecently);
    return py::hash(py::int_(model::hash_of(*handle.document, handle.message())));
}

namespace {

// For an object of another class, Python asks that object.
PyObject* compare(PyObject* a, PyObject* b, int operation) {
    const bool is_known = Py_TYPE(a) == Py_TYPE(b) && (operation == Py_EQ || operation == Py_NE);
    if (!is_known) return Py_NewRef(Py_NotImplemented);
    return call_for_python([&] {
        const bool equal =
            below_guard(handle_of(a), [&] { return is_equal(handle_of(a), handle_of(b)); });
        return py::bool_(equal == (operation == Py_EQ));
    });
}

Py_hash_t hash_slot(PyObject* self) {
    return number_for_python(
        [&] { return below_guard(handle_of(self), [&] { return hash_of(handle_of(self)); }); });
}

}  // namespace

std::vector<PyType_Slot> equality_slots() {
    return {{Py_tp_richcompare, reinterpret_cast<void*>(compare)},
            {Py_tp_hash, reinterpret_cast<void*>(hash_slot)}};
}

}  // namespace onnxmap::bindings
