#include <unwind.h>

#include <chrono>
#include <thread>

// The linker replaces the C++ runtime's function by this one (--wrap in cpp/CMakeLists.txt). The
// unwinder calls it for each C++ frame of this module, before any object of the frame is destroyed.
// pthread_exit of glibc forces unwinding. CPython calls it in a thread that must not continue. Any
// Python function may run Python code, which takes the lock, so any of them may end in
// pthread_exit.
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
