// Packed runs of millions of varints: counts them 64 bytes at a time, and splits them into
// parts.
#pragma once

#include <bit>
#include <cstdint>

#include "base/bytes.hpp"
#include "kernels/continuation_bits.hpp"

namespace onnxmap::wire {

/// The number of varints in a valid run: its bytes below 0x80.
[[nodiscard]] inline std::uint64_t count_varints(ByteView run) noexcept {
    std::uint64_t count = run.size();
    const std::uint8_t* p = run.data();
    const std::uint8_t* const end = p + run.size();
    for (; end - p >= 64; p += 64) {
        count -= static_cast<unsigned>(std::popcount(kernels::continuation_bits(p)));
    }
    for (; p < end; ++p) count -= *p >> 7;
    return count;
}

/// The first place at or after `position` where a run may be cut: after the end of a varint.
[[nodiscard]] inline std::uint64_t varint_end(ByteView run, std::uint64_t position) noexcept {
    while (position < run.size() && position > 0 && run[position - 1] >= 0x80) ++position;
    return position < run.size() ? position : run.size();
}

}  // namespace onnxmap::wire
