#include "bindings/interpreter_lock.hpp"

#include <unwind.h>

#include <chrono>
#include <stdexcept>
#include <thread>

namespace onnxmap::bindings {

WithLock::WithLock() {
    if (Py_IsInitialized() == 0 && PyGILState_GetThisThreadState() == nullptr) {
        throw std::runtime_error("the Python interpreter has ended");
    }
    state_ = PyGILState_Ensure();
}

}  // namespace onnxmap::bindings

// The linker puts this function in the place of the C++ runtime's (--wrap in cpp/CMakeLists.txt).
// The unwinder calls it for each C++ frame of this module, before anything of the frame is
// destroyed. pthread_exit forces unwinding. CPython calls it in a thread that must not go on. Any
// function of Python may do that: any of them may run Python code, which takes the lock.
extern "C" {

_Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class exception_class,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context);

_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class exception_class,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context) {
    while ((actions & _UA_FORCE_UNWIND) != 0) std::this_thread::sleep_for(std::chrono::hours(1));
    return __real___gxx_personality_v0(version, actions, exception_class, exception, context);
}
}
