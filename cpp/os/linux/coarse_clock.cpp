#include "os/coarse_clock.hpp"

#include <ctime>

namespace onnxmap::os {

std::int64_t coarse_milliseconds() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

}  // namespace onnxmap::os
