// A repeated field of numbers or text as a list that writes to its message.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/handles.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

// What an object keeps for the next call is guarded by the interpreter lock, if there is one.
#ifdef Py_GIL_DISABLED
using CacheLock = os::ForkSafeMutex;
#else
struct CacheLock {
    void lock() noexcept {}
    void unlock() noexcept {}
};
#endif

struct ValueList : ListHandle {
    static constexpr auto kClassName = py::detail::const_name("ValueList");

    // Not an aggregate: gcc clears one of this size with `rep stos`, 5 % of `len(node.inputs)`.
    using ListHandle::ListHandle;

    /// The values now. The list is not to be changed.
    [[nodiscard]] py::list values() const;

    // What values() returned last, if it is long, and Edits::count() then.
    struct Kept {
        py::object values;
        std::uint64_t count = 0;
    };
    mutable Kept kept = {};
    // Of one text; after a few, values() serves them. Threads may disturb the count.
    mutable std::atomic<std::uint32_t> single_reads = 0;
    mutable CacheLock lock = {};
};

}  // namespace onnxmap::bindings
