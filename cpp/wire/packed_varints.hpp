// Packed runs of varints, by the million: counted eight bytes at a time, and cut into parts.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace onnxmap::wire {

/// How many varints a valid run holds: its bytes below 0x80.
[[nodiscard]] std::uint64_t count_varints(ByteView run) noexcept;

/// Where a run may be cut at `position` or a few bytes behind it: after the end of a varint.
[[nodiscard]] inline std::uint64_t varint_end(ByteView run, std::uint64_t position) noexcept {
    while (position < run.size() && position > 0 && run[position - 1] >= 0x80) ++position;
    return position < run.size() ? position : run.size();
}

}  // namespace onnxmap::wire
