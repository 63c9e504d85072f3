// A Python object with the buffer protocol as a source of bytes.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/interpreter_lock.hpp"
#include "source/source.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// A caller's buffer, held as long as any view of it exists.
class PythonBuffer final : public source::Source {
  public:
    explicit PythonBuffer(const py::object& object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) {
            throw py::error_already_set();
        }
        data_ = static_cast<const std::uint8_t*>(view_.buf);
        guarded_region().lost->writable = view_.readonly == 0;
        size_ = static_cast<std::uint64_t>(view_.len);
    }

    // The last share may be released in any thread, even after the interpreter has ended. The
    // buffer then leaks, but the process is about to end.
    ~PythonBuffer() override {
        if (Py_IsInitialized() == 0) return;
        const WithLock locked;
        PyBuffer_Release(&view_);
    }

    [[nodiscard]] const char* kind() const noexcept override { return "buffer"; }

  private:
    Py_buffer view_{};
};

}  // namespace onnxmap::bindings
