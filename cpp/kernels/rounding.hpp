// Conversions of one value between float32 and the 16-bit types, on their bits. They have no
// branches, so a loop over them is vectorised.
#pragma once

#include <bit>
#include <cstdint>

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

}  // namespace onnxmap::kernels
