// A process with little address space.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "sanitized.hpp"

namespace onnxmap::test {

/// Whether address space can be limited. The sanitizers need terabytes of it for themselves.
inline constexpr bool kCanLimitMemory = !kSanitized;

/// Allows the process to map at most `nbytes` more. Returns false if the limit cannot be set.
[[nodiscard]] inline bool allow_only(std::uint64_t nbytes) {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const std::uint64_t most = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + nbytes;
    const rlimit limit{most, most};
    return pages > 0 && ::setrlimit(RLIMIT_AS, &limit) == 0;
}

}  // namespace onnxmap::test
