// A Python object with the buffer protocol as a source of bytes.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "bindings/interpreter_lock.hpp"
#include "source/source.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// The file of the np.memmap behind an array or a memoryview; empty if there is none.
[[nodiscard]] std::string path_of_mapping(py::handle object);

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

    [[nodiscard]] std::string mapped_path() const override {
        const WithLock locked;
        return path_of_mapping(view_.obj);
    }

  private:
    Py_buffer view_{};
};

}  // namespace onnxmap::bindings
