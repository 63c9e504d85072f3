#include "wire/packed_scan.hpp"

#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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

// The continuation bits of 64 bytes, the first byte lowest.
inline std::uint64_t continuation_bits(const std::uint8_t* p) noexcept {
    std::uint64_t bits = 0;
#if defined(__SSE2__)
    for (unsigned k = 0; k < 64; k += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + k));
        bits |= std::uint64_t{static_cast<unsigned>(_mm_movemask_epi8(bytes))} << k;
    }
#else
    for (unsigned k = 0; k < 64; k += 8) {
        std::uint64_t word;
        __builtin_memcpy(&word, p + k, sizeof word);
        word = (word & 0x8080'8080'8080'8080) >> 7;
        bits |= (word * 0x0102'0408'1020'4080 >> 56) << k;
    }
#endif
    return bits;
}

}  // namespace

bool PackedScan::feed(ByteView bytes) noexcept {
    constexpr unsigned kMost = kMaxVarintBytes - 1;  // bytes of a varint that goes on
    const std::uint8_t* p = bytes.data();
    const std::uint8_t* end = p + bytes.size();
    std::uint64_t history = history_;
    for (; end - p >= 64; p += 64) {
        const std::uint64_t bits = continuation_bits(p);
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
