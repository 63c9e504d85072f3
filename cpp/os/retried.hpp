// Repeats a system call that a signal has interrupted.
#pragma once

#include <cerrno>

namespace onnxmap::os {

/// The result of the first call() that does not fail with EINTR.
template <class Call>
[[nodiscard]] auto retried(Call&& call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

}  // namespace onnxmap::os
