// The facts about a fault's signal that systems report differently. Async-signal-safe.
#pragma once

#include <csignal>

namespace onnxmap::os {

/// Whether this thread raised the signal itself, and no other thread or process sent it.
[[nodiscard]] bool is_raised_here(const siginfo_t& info) noexcept;

}  // namespace onnxmap::os
