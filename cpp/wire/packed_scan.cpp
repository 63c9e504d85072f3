#include "wire/packed_scan.hpp"

#include <bit>

#include "kernels/continuation_bits.hpp"

namespace onnxmap::wire {

namespace {

// Whether ten neighbouring bits are set.
constexpr bool has_ten_in_a_row(std::uint64_t bits) noexcept {
    const std::uint64_t two = bits & (bits >> 1);
    const std::uint64_t four = two & (two >> 2);
    const std::uint64_t eight = four & (four >> 4);
    return (eight & (two >> 8)) != 0;
}
static_assert(has_ten_in_a_row(0b11'1111'1111'0) && !has_ten_in_a_row(0b1'1111'1111'0));

}  // namespace

bool PackedScan::feed(ByteView bytes) noexcept {
    constexpr unsigned kMost = kMaxVarintBytes - 1;  // bytes of a varint that has not ended
    const std::uint8_t* p = bytes.data();
    const std::uint8_t* end = p + bytes.size();
    std::uint64_t history = history_;
    for (; end - p >= 64; p += 64) {
        const std::uint64_t bits = kernels::continuation_bits(p);
        if (has_ten_in_a_row(bits) || has_ten_in_a_row(history >> (64 - kMost) | bits << kMost)) {
            return false;
        }
        history = bits;
    }
    for (; p < end; ++p) {
        history = history >> 1 | std::uint64_t{*p >= 0x80} << 63;
        if (has_ten_in_a_row(history >> (64 - kMaxVarintBytes))) return false;
    }
    history_ = history;
    return true;
}

int PackedScan::unfinished() const noexcept { return std::countl_one(history_); }

}  // namespace onnxmap::wire
