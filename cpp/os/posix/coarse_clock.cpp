#include "os/coarse_clock.hpp"

#include <chrono>

namespace onnxmap::os {

std::int64_t coarse_milliseconds() noexcept {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace onnxmap::os
