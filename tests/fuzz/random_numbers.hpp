// A small generator of random numbers. The same seed gives the same numbers on every machine, which
// the distributions of <random> do not promise.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onnxmap::fuzz {

/// SplitMix64 (Steele, Lea, Flood 2014): one addition and a mix of bits for each number.
class Random {
  public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t bits() noexcept {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    /// A number from 0 to `count - 1`; `count` is at least 1.
    std::size_t below(std::size_t count) noexcept {
        return static_cast<std::size_t>(bits() % count);
    }

    bool one_in(std::size_t count) noexcept { return below(count) == 0; }

    template <class Items>
    [[nodiscard]] const auto& pick(const Items& items) noexcept {
        return items[below(std::size(items))];
    }

  private:
    std::uint64_t state_;
};

}  // namespace onnxmap::fuzz
