// Sums over floating-point elements, from which mean and standard deviation follow. Element i is
// added to lane i % 8, and the lanes are added in a fixed order, so every set gives the same bits.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/rounding.hpp"

namespace onnxmap::kernels {

/// The most elements that one call may take: the lanes count in 32 bits.
inline constexpr std::uint64_t kMostSummed = 1ULL << 31;

/// Facts about elements. Infinities and NaN are only counted.
struct Moments {
    std::uint64_t not_finite = 0;
    std::uint64_t infinities = 0;
    std::uint64_t zeros = 0;
    double least = std::numeric_limits<double>::infinity();  // of the finite elements
    double most = -std::numeric_limits<double>::infinity();
    double sum = 0;  // of the finite elements
    double sum_of_squares = 0;
};

struct Sums {
    double sum = 0;
    double sum_of_squares = 0;
};

/// The loops for one type of element. They take at most kMostSummed elements at any address.
struct MomentLoops {
    Moments (*summarize)(const std::uint8_t* from, std::uint64_t count);

    /// The sums of `element * scale - shift` over the finite elements. `scale` is a power of two.
    /// For elements that are all far from zero, or whose squares are no normal numbers.
    Sums (*sum_around)(const std::uint8_t* from, std::uint64_t count, double scale, double shift);
};

// What the sets share.

inline constexpr std::size_t kLanes = 8;

/// The types of elements: their codes, and the values that the loops compute with.
struct Float16 {
    using Code = std::uint16_t;
    using Value = float;
    static constexpr Code kMagnitude = 0x7fff;
    static constexpr Code kInfinity = 0x7c00;
    static constexpr Code kNan = 0x7e00;
    static Value value(Code code) noexcept {
        return std::bit_cast<float>(float16_to_float32(code));
    }
};
struct Bfloat16 {
    using Code = std::uint16_t;
    using Value = float;
    static constexpr Code kMagnitude = 0x7fff;
    static constexpr Code kInfinity = 0x7f80;
    static constexpr Code kNan = 0x7fc0;
    static Value value(Code code) noexcept {
        return std::bit_cast<float>(bfloat16_to_float32(code));
    }
};
struct Float32 {
    using Code = std::uint32_t;
    using Value = float;
    static constexpr Code kMagnitude = 0x7fff'ffff;
    static constexpr Code kInfinity = 0x7f80'0000;
    static constexpr Code kNan = 0x7fc0'0000;
    static Value value(Code code) noexcept { return std::bit_cast<float>(code); }
};
struct Float64 {
    using Code = std::uint64_t;
    using Value = double;
    static constexpr Code kMagnitude = 0x7fff'ffff'ffff'ffff;
    static constexpr Code kInfinity = 0x7ff0'0000'0000'0000;
    static constexpr Code kNan = 0x7ff8'0000'0000'0000;
    static Value value(Code code) noexcept { return std::bit_cast<double>(code); }
};

struct SumLanes {
    std::array<double, kLanes> sum{};
    std::array<double, kLanes> sum_of_squares{};

    [[nodiscard]] Sums total() const noexcept;
};

/// What a loop has found at its end.
template <class Value>
struct MomentLanes {
    // Whole bits of a value, so that a register of values fits.
    using Counter = std::conditional_t<sizeof(Value) == 4, std::uint32_t, std::uint64_t>;

    SumLanes sums;
    std::array<Value, kLanes> least;
    std::array<Value, kLanes> most;
    std::array<Counter, kLanes> not_finite{};
    std::array<Counter, kLanes> zeros{};

    /// The sum over the lanes, without `infinities`: they are so rare that they get a loop of their
    /// own. `padding`: how many elements of not_finite are none.
    [[nodiscard]] Moments total(std::uint64_t padding) const noexcept;
};

/// The last elements, fewer than kLanes, and then NaN.
template <class Format>
[[nodiscard]] std::array<typename Format::Code, kLanes> padded(const std::uint8_t* from,
                                                               std::uint64_t count) noexcept;

}  // namespace onnxmap::kernels
