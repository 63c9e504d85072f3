// A process with little address space.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace onnxmap::test {

/// Whether address space can be limited. The sanitizers need terabytes of it for themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCanLimitMemory = false;
#else
inline constexpr bool kCanLimitMemory = true;
#endif

/// Allows the process to map at most `nbytes` more. Returns false if the limit cannot be set.
[[nodiscard]] inline bool allow_only(std::uint64_t nbytes) {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const std::uint64_t most = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + nbytes;
    const rlimit limit{most, most};
    return pages > 0 && ::setrlimit(RLIMIT_AS, &limit) == 0;
}

}  // namespace onnxmap::test
