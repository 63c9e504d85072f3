#include "kernels/integer_loops.hpp"

#include <algorithm>
#include <cstddef>

namespace onnxmap::kernels {

void count_codes(const std::uint8_t* from, std::uint64_t count, CodeCounts& counts) noexcept {
    // Each of four tables counts every fourth byte: weights often repeat a code, and an increment
    // must wait for the one before it of the same counter.
    constexpr std::size_t kTables = 4;
    constexpr std::uint64_t kMost = 1ULL << 31;  // a counter has 32 bits
    while (count > 0) {
        std::array<std::array<std::uint32_t, 256>, kTables> tables{};
        const std::uint64_t here = std::min(count, kMost);
        std::uint64_t i = 0;
        for (; here - i >= 8; i += 8) {
            std::uint64_t word;
            std::memcpy(&word, from + i, sizeof word);
            for (std::size_t k = 0; k < 8; ++k) ++tables[k % kTables][word >> (8 * k) & 0xff];
        }
        for (; i < here; ++i) ++tables[0][from[i]];
        for (const auto& table : tables) {
            for (std::size_t code = 0; code < table.size(); ++code) counts[code] += table[code];
        }
        from += here;
        count -= here;
    }
}

}  // namespace onnxmap::kernels
