// A mutex of the whole process that a fork finds unlocked: the child has only the thread that
// forked, so one that another thread holds would stay locked for ever.
#pragma once

#include <mutex>

namespace onnxmap::io {

class ForkSafeMutex {
  public:
    /// What is done below it must be short and lock nothing else.
    ForkSafeMutex();
    ForkSafeMutex(const ForkSafeMutex&) = delete;
    ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;
    ~ForkSafeMutex();

    void lock() { mutex_.lock(); }
    [[nodiscard]] bool try_lock() { return mutex_.try_lock(); }
    void unlock() { mutex_.unlock(); }

  private:
    std::mutex mutex_;
};

}  // namespace onnxmap::io
