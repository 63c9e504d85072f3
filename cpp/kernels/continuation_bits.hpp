// The continuation bits of varints, 64 bytes at a time. Not part of a KernelSet: the load pass and
// the count of packed varints use it in their own loops, and a call would cost as much as the work.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace onnxmap::kernels {

/// The highest bits of the 64 bytes at `p`; the lowest bit of the result is that of the first byte.
/// Reads words of eight bytes.
[[nodiscard]] inline std::uint64_t continuation_bits_by_words(const std::uint8_t* p) noexcept {
    std::uint64_t bits = 0;
    for (unsigned k = 0; k < 64; k += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, p + k, sizeof word);
        word = (word & 0x8080'8080'8080'8080) >> 7;
        bits |= (word * 0x0102'0408'1020'4080 >> 56) << k;
    }
    return bits;
}

/// The same result, with the instructions of the processor.
[[nodiscard]] inline std::uint64_t continuation_bits(const std::uint8_t* p) noexcept {
#if defined(__SSE2__)
    std::uint64_t bits = 0;
    for (unsigned k = 0; k < 64; k += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + k));
        bits |= std::uint64_t{static_cast<unsigned>(_mm_movemask_epi8(bytes))} << k;
    }
    return bits;
#elif defined(__aarch64__)
    // Gives each byte with a continuation bit the bit of its place among eight, and adds the eight.
    const uint8x16_t place = vreinterpretq_u8_u64(vdupq_n_u64(0x8040'2010'0804'0201));
    const auto places = [&](unsigned k) {
        return vandq_u8(vcltzq_s8(vreinterpretq_s8_u8(vld1q_u8(p + k))), place);
    };
    const uint8x16_t low = vpaddq_u8(places(0), places(16));
    const uint8x16_t high = vpaddq_u8(places(32), places(48));
    const uint8x16_t sums = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
#else
    return continuation_bits_by_words(p);
#endif
}

}  // namespace onnxmap::kernels
