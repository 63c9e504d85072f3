// The plain set: C++ that the compiler vectorises for the baseline of the target (SSE2, NEON). The
// other sets also use it for the last few elements.
#pragma once

#include <cstring>

#include "kernels/float_rounding.hpp"
#include "kernels/kernel_set.hpp"

namespace onnxmap::kernels::scalar {

// Applies `one` to each element. memcpy loads and stores bytes at any alignment.
template <class From, class To, To (*one)(From)>
ONNXMAP_IN_CALLER void each(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) {
    for (std::uint64_t i = 0; i < count; ++i) {
        From value;
        std::memcpy(&value, from + i * sizeof(From), sizeof(From));
        const To result = one(value);
        std::memcpy(to + i * sizeof(To), &result, sizeof(To));
    }
}

template <unsigned bits>
void unpack_in_bytes(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) {
    constexpr unsigned kPerByte = 8 / bits;
    constexpr std::uint8_t kMask = (1U << bits) - 1;
    const std::uint64_t whole = count / kPerByte;
    for (std::uint64_t i = 0; i < whole; ++i) {
        for (unsigned k = 0; k < kPerByte; ++k) {
            to[i * kPerByte + k] = static_cast<std::uint8_t>(from[i] >> (k * bits)) & kMask;
        }
    }
    for (std::uint64_t i = whole * kPerByte; i < count; ++i) {
        const auto shift = static_cast<unsigned>(i % kPerByte * bits);
        to[i] = static_cast<std::uint8_t>(from[whole] >> shift) & kMask;
    }
}

inline constexpr Kernel unpack2 = unpack_in_bytes<2>;
inline constexpr Kernel unpack4 = unpack_in_bytes<4>;
inline constexpr Kernel float16_to_float32 =
    each<std::uint16_t, std::uint32_t, kernels::float16_to_float32>;
inline constexpr Kernel bfloat16_to_float32 =
    each<std::uint16_t, std::uint32_t, kernels::bfloat16_to_float32>;
inline constexpr Kernel float32_to_float16 =
    each<std::uint32_t, std::uint16_t, kernels::float32_to_float16>;
inline constexpr Kernel float32_to_bfloat16 =
    each<std::uint32_t, std::uint16_t, kernels::float32_to_bfloat16>;
template <Float8 kType>
inline constexpr Kernel float32_to_float8 =
    each<std::uint32_t, std::uint8_t, kernels::float32_to_float8<kType>>;

// Blocks are short, so that a lane of 32 bits can count one.
ONNXMAP_IN_CALLER std::uint64_t count_between_here(const std::uint8_t* from, std::uint64_t count,
                                                   std::uint32_t least, std::uint32_t most) {
    std::uint64_t sum = 0;
    while (count > 0) {
        const auto block = static_cast<std::uint32_t>(count < 4096 ? count : 4096);
        std::uint32_t found = 0;
        for (std::uint32_t i = 0; i < block; ++i) {
            std::uint32_t bits;
            std::memcpy(&bits, from + std::size_t{4} * i, sizeof bits);
            found += (bits & 0x7fff'ffff) - least <= most - least ? 1 : 0;
        }
        sum += found;
        from += std::size_t{4} * block;
        count -= block;
    }
    return sum;
}
std::uint64_t count_between(const std::uint8_t* from, std::uint64_t count, std::uint32_t least,
                            std::uint32_t most);
void unpack6(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to);
std::uint64_t read_varints(const std::uint8_t*& p, const std::uint8_t* end, std::uint64_t count,
                           std::uint8_t* to);
std::uint32_t crc32(const std::uint8_t* from, std::uint64_t count, std::uint32_t before) noexcept;
void look_up(const std::uint8_t* from, std::uint64_t count, Table table, std::uint8_t* to);

extern const MomentLoops kBfloat16Loops;
extern const MomentLoops kFloat32Loops;
extern const MomentLoops kFloat64Loops;

}  // namespace onnxmap::kernels::scalar
