// 64-bit arithmetic on numbers from a file, without a wrapped result.
#pragma once

#include <cstdint>

namespace onnxmap {

/// Returns false if the product is too large.
[[nodiscard]] inline bool checked_mul(std::uint64_t a, std::uint64_t b, std::uint64_t& product) {
    return !__builtin_mul_overflow(a, b, &product);
}

/// Returns false if the sum is too large.
[[nodiscard]] inline bool checked_add(std::uint64_t a, std::uint64_t b, std::uint64_t& sum) {
    return !__builtin_add_overflow(a, b, &sum);
}

/// The sum, or the largest number.
[[nodiscard]] inline std::uint64_t add_sat(std::uint64_t a, std::uint64_t b) {
    std::uint64_t sum = 0;
    return checked_add(a, b, sum) ? sum : UINT64_MAX;
}

/// The product, or the largest number.
[[nodiscard]] inline std::uint64_t mul_sat(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    return checked_mul(a, b, product) ? product : UINT64_MAX;
}

}  // namespace onnxmap
