#include "os/fault_signal.hpp"

#include <unistd.h>

namespace onnxmap::os {

// POSIX does not distinguish kill() from raise(): a process that sends the signal to itself while
// it reads continues.
bool is_raised_here(const siginfo_t& info) noexcept {
    return info.si_code <= 0 && info.si_pid == ::getpid();
}

}  // namespace onnxmap::os
