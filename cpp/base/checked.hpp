// 64-bit arithmetic on numbers from a file: returns false instead of a wrapped result.
#pragma once

#include <cstdint>

namespace onnxmap {

[[nodiscard]] inline bool checked_mul(std::uint64_t a, std::uint64_t b, std::uint64_t& product) {
    return !__builtin_mul_overflow(a, b, &product);
}

[[nodiscard]] inline bool checked_add(std::uint64_t a, std::uint64_t b, std::uint64_t& sum) {
    return !__builtin_add_overflow(a, b, &sum);
}

}  // namespace onnxmap
