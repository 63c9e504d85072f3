#include "kernels/continuation_bits.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <random>

namespace onnxmap::test {

TEST_CASE("continuation_bits: gives one bit for each byte, whatever the other bytes are") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 10'000; ++round) {
        std::array<std::uint8_t, 64> bytes{};
        const std::uint64_t expected = random();
        for (unsigned i = 0; i < 64; ++i) {
            const std::uint64_t high = (expected >> i & 1) << 7;
            bytes[i] = static_cast<std::uint8_t>(high | (random() & 0x7f));
        }
        REQUIRE(kernels::continuation_bits(bytes.data()) == expected);
        REQUIRE(kernels::continuation_bits_by_words(bytes.data()) == expected);
    }
}

}  // namespace onnxmap::test
