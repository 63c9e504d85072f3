// A mutex that is always unlocked in the child of a fork, and whose data are consistent there. The
// child has only the thread that forked: a plain mutex that another thread held would stay locked
// for ever.
//
// A fork waits until no thread holds such a mutex. Meanwhile, threads that want one wait for the
// fork. Therefore code that holds one must not take long. It must not wait for the interpreter lock
// either, which the forking thread may hold: it runs no Python code and releases no Python object.
#pragma once

#include <mutex>

#include "base/no_copy.hpp"

namespace onnxmap::os {

class ForkSafeMutex : NoCopy {
  public:
    void lock();
    [[nodiscard]] bool try_lock();
    void unlock();

  private:
    std::mutex mutex_;
};

}  // namespace onnxmap::os
