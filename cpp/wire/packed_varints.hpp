// Packed runs of millions of varints: counts them eight bytes at a time, and splits them into
// parts.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace onnxmap::wire {

/// The number of varints in a valid run: its bytes below 0x80.
[[nodiscard]] std::uint64_t count_varints(ByteView run) noexcept;

/// The first place at or after `position` where a run may be cut: after the end of a varint.
[[nodiscard]] inline std::uint64_t varint_end(ByteView run, std::uint64_t position) noexcept {
    while (position < run.size() && position > 0 && run[position - 1] >= 0x80) ++position;
    return position < run.size() ? position : run.size();
}

}  // namespace onnxmap::wire
