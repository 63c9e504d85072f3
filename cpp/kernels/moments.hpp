// Sums over floating-point elements, from which mean and standard deviation follow. Element i is
// added to lane i % 8, and the lanes are added in a fixed order, so every set gives the same bits.
#pragma once

#include <cstdint>
#include <limits>

namespace onnxmap::kernels {

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

/// The loops for one type of element. They take elements at any address.
struct MomentLoops {
    Moments (*summarize)(const std::uint8_t* from, std::uint64_t count);

    /// The sums of `element * scale - shift` over the finite elements. `scale` is a power of two.
    /// For elements that are all far from zero, or whose squares are no normal numbers.
    Sums (*sum_around)(const std::uint8_t* from, std::uint64_t count, double scale, double shift);
};

}  // namespace onnxmap::kernels
