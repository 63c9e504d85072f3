// A clock that is very cheap to read.
#pragma once

#include <cstdint>

namespace onnxmap::os {

/// Milliseconds since some moment; may be some milliseconds late. Never goes back.
[[nodiscard]] std::int64_t coarse_milliseconds() noexcept;

}  // namespace onnxmap::os
