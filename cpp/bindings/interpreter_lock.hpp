// Python's interpreter lock. Only these classes release and take it.
//
// The interpreter may end while a daemon thread is in the core. A thread that then asks for the
// lock never gets it. CPython before 3.14 ends the thread with pthread_exit, which unwinds its
// stack through our frames. Destructors would then release Python objects without the lock, and a
// destructor that asks for the lock would end the process. forced_unwinding.cpp keeps the thread
// from unwinding: the thread sleeps until the process ends, as all threads do in CPython 3.14.
// Without this, 49 of 50 processes of CPython 3.11 aborted that ended while three daemon threads
// were in Model.arrays(dtype=...). With it, none of 50 did.
//
// A sleeping thread keeps its mutexes. Therefore no thread may ask for the lock or call Python
// while it holds a mutex that the end of the interpreter needs.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <utility>

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

/// Returns work(), which uses no Python object. Other threads can run Python meanwhile if
/// `takes_long`: a thread that gives the lock away may have to wait some milliseconds for it.
template <class Work>
auto without_lock_if(bool takes_long, Work&& work) {
    std::optional<WithoutLock> unlocked;
    if (takes_long) unlocked.emplace();
    return std::forward<Work>(work)();
}

/// Returns work(), which uses no Python object. Other threads can run Python meanwhile.
template <class Work>
auto without_lock(Work&& work) {
    const WithoutLock unlocked;
    return std::forward<Work>(work)();
}

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

/// A Python object that any thread may copy and release without the lock, even after the
/// interpreter has ended. The object then leaks, but the process is about to end.
using ThreadSafeObject = std::shared_ptr<const pybind11::object>;
[[nodiscard]] ThreadSafeObject thread_safe(const pybind11::object& object);

/// Throws the exception of a signal handler that is due, such as KeyboardInterrupt after Ctrl-C.
/// Needs the lock.
void check_signals();

/// Does the same in long work without the lock.
void poll_signals();

}  // namespace onnxmap::bindings
