// Python's interpreter lock. Only these classes release and take it.
//
// The interpreter may end while a daemon thread is in the core. A thread that then asks for the
// lock never gets it. CPython before 3.14 ends the thread with pthread_exit, which unwinds its
// stack through our frames. Destructors would then release Python objects without the lock, and a
// destructor that asks for the lock would end the process. interpreter_lock.cpp keeps the thread
// from unwinding: the thread sleeps until the process ends, as all threads do in CPython 3.14.
//
// A sleeping thread keeps its mutexes. Therefore no thread may ask for the lock or call Python
// while it holds a mutex that the end of the interpreter needs.
#pragma once

#include <pybind11/pybind11.h>

namespace onnxmap::bindings {

/// While an object of this class exists, other threads can run Python.
class WithoutLock {
  public:
    WithoutLock() : thread_(PyEval_SaveThread()) {}
    WithoutLock(const WithoutLock&) = delete;
    WithoutLock& operator=(const WithoutLock&) = delete;
    ~WithoutLock() { PyEval_RestoreThread(thread_); }

  private:
    PyThreadState* thread_;
};

/// While an object of this class exists, its thread may use Python, even if Python does not know
/// the thread.
class WithLock {
  public:
    /// Throws std::runtime_error if Python does not know the thread and the interpreter has ended.
    WithLock();
    WithLock(const WithLock&) = delete;
    WithLock& operator=(const WithLock&) = delete;
    ~WithLock() { PyGILState_Release(state_); }

  private:
    PyGILState_STATE state_;
};

}  // namespace onnxmap::bindings
