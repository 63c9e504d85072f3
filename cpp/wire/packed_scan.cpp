#include "wire/packed_scan.hpp"

#include <bit>

namespace onnxmap::wire {

namespace {

constexpr std::uint64_t kContinuation = 0x8080'8080'8080'8080;

// Whether ten neighbouring bits are set.
constexpr bool has_ten_in_a_row(std::uint32_t bits) noexcept {
    const std::uint32_t two = bits & (bits >> 1);
    const std::uint32_t four = two & (two >> 2);
    const std::uint32_t eight = four & (four >> 4);
    return (eight & (two >> 8)) != 0;
}
static_assert(has_ten_in_a_row(0b11'1111'1111'0) && !has_ten_in_a_row(0b1'1111'1111'0));

// The continuation bits of eight bytes, the first byte highest.
inline std::uint32_t continuation_bits(const std::uint8_t* p) noexcept {
    std::uint64_t word;
    __builtin_memcpy(&word, p, sizeof word);
    word = (word & kContinuation) >> 7;
    return static_cast<std::uint32_t>((word * 0x8040'2010'0804'0201) >> 56);
}

}  // namespace

bool PackedScan::feed(ByteView bytes) noexcept {
    const std::uint8_t* p = bytes.data();
    const std::uint8_t* end = p + bytes.size();
    std::uint32_t history = history_;
    for (; end - p >= 8; p += 8) {
        history = (history << 8) | continuation_bits(p);
        if (has_ten_in_a_row(history & 0x3ffff)) return false;
    }
    for (; p < end; ++p) {
        history = (history << 1) | (*p >> 7);
        if (has_ten_in_a_row(history & 0x3ff)) return false;
    }
    history_ = history;
    return true;
}

int PackedScan::unfinished() const noexcept { return std::countr_one(history_); }

}  // namespace onnxmap::wire
