// Loops over integers: how often each code occurs, and conversions to floating-point numbers.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace onnxmap::kernels {

/// How often each value of a byte occurs.
using CodeCounts = std::array<std::uint64_t, 256>;

/// Adds the bytes to the counts.
void count_codes(const std::uint8_t* from, std::uint64_t count, CodeCounts& counts) noexcept;

/// Converts integers at any address. The compiler vectorises the loop.
template <class Integer, class Float>
void to_floats(const std::uint8_t* from, std::uint64_t count, Float* to) noexcept {
    for (std::uint64_t i = 0; i < count; ++i) {
        Integer value;
        std::memcpy(&value, from + i * sizeof value, sizeof value);
        to[i] = static_cast<Float>(value);
    }
}

}  // namespace onnxmap::kernels
