// The continuation bits of varints, 64 bytes at a time. Not part of a KernelSet: the load pass and
// the count of packed varints use it in their own loops, and a call would cost as much as the work.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
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
#else
    return continuation_bits_by_words(p);
#endif
}

}  // namespace onnxmap::kernels
