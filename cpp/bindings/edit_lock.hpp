// The lock of a document's edits in a Python without an interpreter lock. With an interpreter lock,
// it is empty: that lock keeps two edits apart already.
//
// It is a critical section of CPython, which behaves like an interpreter lock of the document. A
// thread gives it away while it waits, also for another critical section. So edits never wait for
// each other in a circle, and the Python code that the conversion of values runs may do anything.
#pragma once

#include <pybind11/critical_section.h>
#include <pybind11/pybind11.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/made_once.hpp"
#include "base/seeded_hash.hpp"
#include "bindings/handles.hpp"

namespace onnxmap::bindings {

/// While an object of this class exists, no other thread edits the document, except while this one
/// waits. Readers need no lock: see model/edits.hpp.
class EditLock {
  public:
    explicit EditLock(const DocumentPtr& document) : section_(object_of(document.get())) {}

  private:
#ifdef Py_GIL_DISABLED
    // Documents share few objects: a program may make millions of messages, each a document. Two
    // models with one object are edited in turns.
    static py::handle object_of(const model::Document* document) {
        using Objects = std::array<py::object, 256>;
        constinit static std::atomic<const Objects*> made = nullptr;
        const Objects& objects = made_once(made, [] {
            auto all = std::make_unique<Objects>();
            for (py::object& each : *all) {
                each = owned(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)));
            }
            return std::unique_ptr<const Objects>(std::move(all));
        });
        const auto address = reinterpret_cast<std::uintptr_t>(document);
        return objects[(address * kScatter) >> 56];
    }
#else
    static py::handle object_of(const model::Document* /*document*/) noexcept { return {}; }
#endif

    py::scoped_critical_section section_;
};

}  // namespace onnxmap::bindings
