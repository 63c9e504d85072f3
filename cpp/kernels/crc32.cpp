// Source: ISO 3309; the algorithm with 16 tables is Intel's "slicing-by-16".

#include <array>
#include <cstddef>
#include <cstring>

#include "kernels/scalar.hpp"

namespace onnxmap::kernels::scalar {

namespace {

constexpr std::size_t kAtOnce = 16;  // bytes

using CrcTable = std::array<std::uint32_t, 256>;

// tables[i][b]: the remainder of byte b with i zeros behind it.
constexpr std::array<CrcTable, kAtOnce> kTables = [] {
    constexpr std::uint32_t kPolynomial = 0xedb8'8320;  // its bits reversed
    std::array<CrcTable, kAtOnce> tables{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest % 2 == 0 ? 0 : kPolynomial);
        tables[0][byte] = rest;
    }
    for (std::size_t i = 1; i < kAtOnce; ++i) {
        for (std::size_t byte = 0; byte < 256; ++byte) {
            const std::uint32_t rest = tables[i - 1][byte];
            tables[i][byte] = rest >> 8 ^ tables[0][rest & 0xff];
        }
    }
    return tables;
}();

}  // namespace

std::uint32_t crc32(const std::uint8_t* from, std::uint64_t count, std::uint32_t before) noexcept {
    std::uint32_t crc = ~before;
    for (; count >= kAtOnce; count -= kAtOnce, from += kAtOnce) {
        std::uint32_t words[4];
        std::memcpy(words, from, sizeof words);
        words[0] ^= crc;
        crc = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            const std::size_t table = kAtOnce - 1 - 4 * i;
            crc ^= kTables[table][words[i] & 0xff] ^ kTables[table - 1][words[i] >> 8 & 0xff] ^
                   kTables[table - 2][words[i] >> 16 & 0xff] ^ kTables[table - 3][words[i] >> 24];
        }
    }
    for (; count > 0; --count, ++from) crc = crc >> 8 ^ kTables[0][(crc ^ *from) & 0xff];
    return ~crc;
}

}  // namespace onnxmap::kernels::scalar
