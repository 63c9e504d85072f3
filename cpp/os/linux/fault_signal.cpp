#include "os/fault_signal.hpp"

#include <unistd.h>

namespace onnxmap::os {

bool is_raised_here(const siginfo_t& info) noexcept {
    return info.si_code == SI_TKILL && info.si_pid == ::getpid();
}

}  // namespace onnxmap::os
