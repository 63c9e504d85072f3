// Conversions of one value between float32 and smaller types, on their bits. They have no branches,
// so a loop over them is vectorised.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

// Of loops: each set calls them from functions of its own, and the compiler vectorises them there
// for that set's instructions.
#define ONNXMAP_IN_CALLER [[gnu::always_inline]] inline

namespace onnxmap::kernels {

[[nodiscard]] constexpr std::uint32_t float16_to_float32(std::uint16_t half) noexcept {
    const std::uint32_t sign = (half & 0x8000U) << 16;
    const std::uint32_t magnitude = half & 0x7fffU;
    const std::uint32_t normal = (magnitude << 13) + ((127 - 15) << 23);
    const std::uint32_t special = 0x7f80'0000 | (magnitude << 13);
    // A subnormal is its mantissa in units of 2^-24.
    const auto subnormal = std::bit_cast<std::uint32_t>(
        static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F);
    return sign | (magnitude < 0x0400 ? subnormal : magnitude < 0x7c00 ? normal : special);
}

[[nodiscard]] constexpr std::uint16_t float32_to_float16(std::uint32_t bits) noexcept {
    const std::uint32_t sign = (bits >> 16) & 0x8000;
    const std::uint32_t magnitude = bits & 0x7fff'ffff;
    // Adds half of the last kept place, less one if that place is even.
    const std::uint32_t rounded = magnitude + 0x0fff + ((magnitude >> 13) & 1);
    std::uint32_t normal = (rounded - ((127 - 15) << 23)) >> 13;
    normal = rounded < 0x4780'0000 ? normal : 0x7c00;
    // Adding 0.5 leaves 2^-24 as the last place of the sum, and rounds to it.
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f00'0000;
    std::uint32_t nan = 0x7c00 | ((magnitude >> 13) & 0x03ff);
    nan += nan == 0x7c00 ? 1 : 0;  // a payload in the low bits alone must not become infinity
    const std::uint32_t result = magnitude > 0x7f80'0000   ? nan
                                 : magnitude < 0x3880'0000 ? subnormal
                                                           : normal;
    return static_cast<std::uint16_t>(sign | result);
}

[[nodiscard]] constexpr std::uint32_t bfloat16_to_float32(std::uint16_t brain) noexcept {
    return static_cast<std::uint32_t>(brain) << 16;
}

[[nodiscard]] constexpr std::uint16_t float32_to_bfloat16(std::uint32_t bits) noexcept {
    const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const std::uint32_t nan = ((bits >> 16) & 0x8000) | 0x7fc0;
    return static_cast<std::uint16_t>((bits & 0x7fff'ffff) > 0x7f80'0000 ? nan : rounded);
}

/// A type of one byte: a sign, an exponent, and a mantissa.
struct Float8 {
    std::uint32_t mantissa_bits;
    std::uint32_t bias;
    std::uint32_t most;  // the code of the largest finite value
    std::uint32_t nan;   // its code
    bool is_signed;      // NaN and zero have a sign
};
inline constexpr Float8 kE4m3fn = {3, 7, 0x7e, 0x7f, true};
inline constexpr Float8 kE4m3fnuz = {3, 8, 0x7f, 0x80, false};
inline constexpr Float8 kE5m2 = {2, 15, 0x7b, 0x7e, true};
inline constexpr Float8 kE5m2fnuz = {2, 16, 0x7f, 0x80, false};

/// Larger values, infinity among them, become the largest finite one.
template <Float8 kType>
[[nodiscard]] constexpr std::uint8_t float32_to_float8(std::uint32_t bits) noexcept {
    constexpr std::uint32_t kDropped = 23 - kType.mantissa_bits;
    constexpr std::uint32_t kLeastNormal = (128 - kType.bias) << 23;
    constexpr std::uint32_t kRebias = (127 - kType.bias) << 23;
    constexpr std::uint32_t kMost = kRebias + (kType.most << kDropped);
    // A float32 whose last place is as large as the step between subnormals of the type. Adding it
    // rounds a number to such a step.
    constexpr std::uint32_t kPlace = (127 + 1 - kType.bias + kDropped) << 23;
    const std::uint32_t sign = (bits >> 24) & 0x80;
    const std::uint32_t magnitude = bits & 0x7fff'ffff;
    const std::uint32_t finite = std::min(magnitude, kMost);
    const std::uint32_t half = (1U << (kDropped - 1)) - 1 + ((finite >> kDropped) & 1);
    const std::uint32_t normal = (finite + half - kRebias) >> kDropped;
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(finite) + std::bit_cast<float>(kPlace)) -
        kPlace;
    const std::uint32_t code = finite < kLeastNormal ? subnormal : normal;
    const std::uint32_t number = kType.is_signed || code != 0 ? sign | code : 0;
    const std::uint32_t nan = kType.is_signed ? sign | kType.nan : kType.nan;
    return static_cast<std::uint8_t>(magnitude > 0x7f80'0000 ? nan : number);
}

}  // namespace onnxmap::kernels
