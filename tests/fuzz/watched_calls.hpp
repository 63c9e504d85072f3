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
    int openat2_fails = 0;  // errno of every openat2, as if it were forbidden; 0: none
    bool no_proc = false;   // as if /proc were not mounted
    std::vector<Failure> failures;
    /// Called with each descriptor that was opened, and its flags.
    std::function<void(int descriptor, int flags)> on_open;
};

/// While an object of this class exists, calls follow its plan.
class WatchedCalls {
  public:
    explicit WatchedCalls(CallPlan plan);
    ~WatchedCalls();
    WatchedCalls(const WatchedCalls&) = delete;
    WatchedCalls& operator=(const WatchedCalls&) = delete;
};

/// While an object of this class exists, calls follow no plan and are not counted.
class UnwatchedCalls {
  public:
    UnwatchedCalls();
    ~UnwatchedCalls();
    UnwatchedCalls(const UnwatchedCalls&) = delete;
    UnwatchedCalls& operator=(const UnwatchedCalls&) = delete;
};

}  // namespace onnxmap::fuzz
