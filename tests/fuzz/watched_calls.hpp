// The system calls by which the core opens and looks at files: each can be watched, and made to
// fail. The linker puts these functions in the place of the C library's (--wrap).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace onnxmap::fuzz {

struct Failure {
    unsigned call;  // which one fails, counted from 0
    int number;     // with this errno
};

struct CallPlan {
    int openat2_fails = 0;  // errno of every openat2, as where it is missing or forbidden; 0: none
    bool no_proc = false;   // as where /proc is not mounted
    std::vector<Failure> failures;
    /// Is told of each descriptor that was opened, and with which flags.
    std::function<void(int descriptor, int flags)> on_open;
};

/// While one lives, calls go by its plan.
class WatchedCalls {
  public:
    explicit WatchedCalls(CallPlan plan);
    ~WatchedCalls();
    WatchedCalls(const WatchedCalls&) = delete;
    WatchedCalls& operator=(const WatchedCalls&) = delete;
};

/// While one lives, calls are the target's own: they go by no plan, and are not counted.
class UnwatchedCalls {
  public:
    UnwatchedCalls();
    ~UnwatchedCalls();
    UnwatchedCalls(const UnwatchedCalls&) = delete;
    UnwatchedCalls& operator=(const UnwatchedCalls&) = delete;
};

}  // namespace onnxmap::fuzz
