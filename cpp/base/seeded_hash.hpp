// The step of hashes whose seeds are random. Files choose what is hashed: without the seeds, they
// cannot make many things have one hash.
#pragma once

#include <array>
#include <cstdint>
#include <random>

namespace onnxmap {

using HashSeeds = std::array<std::uint64_t, 2>;

[[nodiscard]] inline HashSeeds random_seeds() {
    std::random_device random;
    const auto next = [&] { return std::uint64_t{random()} << 32 | random(); };
    return {next(), next() | 1};
}

/// Combines both halves of the product, so that each bit of the result depends on all bits of both
/// numbers.
[[nodiscard]] inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace onnxmap
