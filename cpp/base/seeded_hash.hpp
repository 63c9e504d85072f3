// The step of hashes whose seeds are random. Files choose what is hashed: without the seeds, they
// cannot make many things have one hash. And a factor for small hashes without seeds, of addresses
// and where equal hashes cost little.
#pragma once

#include <array>
#include <cstdint>

namespace onnxmap {

/// Products of numbers that lie close together differ in their upper bits: it is 2^64 over the
/// golden ratio.
inline constexpr std::uint64_t kScatter = 0x9e37'79b9'7f4a'7c15;

using HashSeeds = std::array<std::uint64_t, 2>;

/// Combines both halves of the product, so that each bit of the result depends on all bits of both
/// numbers.
[[nodiscard]] inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace onnxmap
