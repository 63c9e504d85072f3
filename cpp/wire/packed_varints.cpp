#include "wire/packed_varints.hpp"

#include <algorithm>

#include "wire/reader.hpp"

namespace onnxmap::wire {

namespace {

constexpr std::uint64_t kContinuationBits = 0x8080'8080'8080'8080;

}  // namespace

std::uint64_t count_varints(ByteView run) noexcept {
    constexpr std::ptrdiff_t kMostWords = 255;  // then a byte of the sum is full
    std::uint64_t count = 0;
    const std::uint8_t* p = run.data();
    const std::uint8_t* end = p + run.size();
    while (end - p >= 8) {
        std::uint64_t sums = 0;  // of each of the eight bytes of a word
        for (std::ptrdiff_t words = std::min((end - p) / 8, kMostWords); words > 0; --words) {
            sums += (~load64(p) & kContinuationBits) >> 7;
            p += 8;
        }
        constexpr std::uint64_t kEvenBytes = 0x00ff'00ff'00ff'00ff;
        const std::uint64_t pairs = (sums & kEvenBytes) + (sums >> 8 & kEvenBytes);
        count += pairs * 0x0001'0001'0001'0001 >> 48;
    }
    for (; p < end; ++p) count += *p < 0x80;
    return count;
}

}  // namespace onnxmap::wire
