#include "bindings/interpreter_lock.hpp"

#include <stdexcept>

namespace onnxmap::bindings {

WithLock::WithLock() {
    if (Py_IsInitialized() == 0 && PyGILState_GetThisThreadState() == nullptr) {
        throw std::runtime_error("the Python interpreter has ended");
    }
    state_ = PyGILState_Ensure();
}

ThreadSafeObject thread_safe(const pybind11::object& object) {
    return {new pybind11::object(object), [](const pybind11::object* each) {
                if (Py_IsInitialized() == 0) return;
                const WithLock locked;
                delete each;
            }};
}

void check_signals() {
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
}

void poll_signals() {
    const WithLock locked;
    check_signals();
}

}  // namespace onnxmap::bindings
