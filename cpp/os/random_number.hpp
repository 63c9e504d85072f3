// Random numbers from the system. std::random_device may open a file for them, and fails if there
// is no descriptor left, or no /dev.
#pragma once

#include <sys/random.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>

#include "base/seeded_hash.hpp"

namespace onnxmap::os {

[[nodiscard]] inline std::uint64_t random_number() noexcept {
    std::uint64_t number = 0;
    if (::getentropy(&number, sizeof number) == 0) return number;
    // A sandbox may forbid the call. The place of the stack is random as well.
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    return fold(reinterpret_cast<std::uintptr_t>(&number), static_cast<std::uint64_t>(now) | 1);
}

/// Seeds of a hash, which files cannot know.
[[nodiscard]] inline HashSeeds random_seeds() noexcept {
    return {random_number(), random_number() | 1};
}

}  // namespace onnxmap::os
