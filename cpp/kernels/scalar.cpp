#include "kernels/scalar.hpp"

#include <bit>
#include <cstring>

#include "kernels/moment_loops.hpp"

namespace onnxmap::kernels {

namespace {

constexpr std::uint64_t kContinuationBits = 0x8080'8080'8080'8080;

// Joins the seven low bits of each of eight bytes.
std::uint64_t gather_sevens(std::uint64_t word) noexcept {
    word = (word & 0x007f'007f'007f'007f) | ((word & 0x7f00'7f00'7f00'7f00) >> 1);
    word = (word & 0x0000'3fff'0000'3fff) | ((word & 0x3fff'0000'3fff'0000) >> 2);
    return (word & 0x0fff'ffff) | ((word & 0x0fff'ffff'0000'0000) >> 4);
}

}  // namespace

namespace scalar {

namespace {

template <class Format, Kernel kConvert>
Moments summarize(const std::uint8_t* from, std::uint64_t count) {
    return summarize_here<Format, kConvert>(from, count);
}

template <class Format, Kernel kConvert>
Sums sum_around(const std::uint8_t* from, std::uint64_t count, double scale, double shift) {
    return sum_around_here<Format, kConvert>(from, count, scale, shift);
}

template <class Format, Kernel kConvert = nullptr>
constexpr MomentLoops kLoops = {summarize<Format, kConvert>, sum_around<Format, kConvert>};

}  // namespace

constexpr MomentLoops kBfloat16Loops = kLoops<Bfloat16, bfloat16_to_float32>;
constexpr MomentLoops kFloat32Loops = kLoops<Float32>;
constexpr MomentLoops kFloat64Loops = kLoops<Float64>;

std::uint64_t count_between(const std::uint8_t* from, std::uint64_t count, std::uint32_t least,
                            std::uint32_t most) {
    return count_between_here(from, count, least, most);
}

void unpack6(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) {
    for (; count >= 4; count -= 4, from += 3, to += 4) {
        const auto group = static_cast<std::uint32_t>(from[0] | from[1] << 8 | from[2] << 16);
        const std::uint32_t spread = (group & 0x3f) | (group << 2 & 0x3f00) |
                                     (group << 4 & 0x3f'0000) | (group << 6 & 0x3f00'0000);
        std::memcpy(to, &spread, sizeof spread);
    }
    std::uint32_t group = 0;
    for (std::uint64_t i = 0; i * 8 < count * 6; ++i) group |= std::uint32_t{from[i]} << (8 * i);
    for (std::uint64_t i = 0; i < count; ++i) {
        to[i] = static_cast<std::uint8_t>(group >> (6 * i) & 0x3f);
    }
}

void look_up(const std::uint8_t* from, std::uint64_t count, Table table, std::uint8_t* to) {
    for (; count >= 8; count -= 8, from += 8, to += 32) {
        std::uint64_t codes;
        std::memcpy(&codes, from, sizeof codes);
        for (unsigned k = 0; k < 4; ++k) {
            const std::uint64_t pair = std::uint64_t{table[codes >> (16 * k) & 0xff]} |
                                       std::uint64_t{table[codes >> (16 * k + 8) & 0xff]} << 32;
            std::memcpy(to + std::size_t{8} * k, &pair, sizeof pair);
        }
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        std::memcpy(to + 4 * i, &table[from[i]], sizeof *table);
    }
}

std::uint64_t read_varints(const std::uint8_t*& p, const std::uint8_t* end, std::uint64_t count,
                           std::uint8_t* to) {
    constexpr std::ptrdiff_t kMostBytes = 10;
    const std::uint8_t* at = p;
    std::uint64_t i = 0;
    while (i < count && end - at >= kMostBytes) {
        std::uint64_t word;
        std::memcpy(&word, at, sizeof word);
        const std::uint64_t stops = ~word & kContinuationBits;
        if (stops == kContinuationBits && count - i >= 8) {  // a byte each
            for (unsigned k = 0; k < 8; ++k) {
                const std::uint64_t value = word >> (8 * k) & 0xff;
                std::memcpy(to + 8 * (i + k), &value, sizeof value);
            }
            i += 8;
            at += 8;
            continue;
        }
        // Does not branch on the length, which no processor could predict.
        const std::uint64_t ninth = at[8];
        const std::uint64_t tenth = at[9];
        const std::uint64_t more =
            stops == 0 ? 1 : 0;  // whether the ninth byte belongs to the varint
        const std::uint64_t ten = more & ninth >> 7;  // whether the tenth does, too
        if ((ten & tenth >> 7) != 0) break;
        const std::uint64_t high = (ninth & 0x7f) << 56 | (tenth & ten) << 63;
        const std::uint64_t value =
            gather_sevens(word & (stops ^ (stops - 1))) | (high & (0 - more));
        std::memcpy(to + 8 * i++, &value, sizeof value);
        at += static_cast<unsigned>(std::countr_zero(stops | 1ULL << 63)) / 8 + 1 + more + ten;
    }
    p = at;
    return i;
}

}  // namespace scalar

constexpr KernelSet kScalar = {
    .name = "scalar",
    .supported = []() noexcept { return true; },
    .unpack2 = scalar::unpack2,
    .unpack4 = scalar::unpack4,
    .unpack6 = scalar::unpack6,
    .float16_to_float32 = scalar::float16_to_float32,
    .bfloat16_to_float32 = scalar::bfloat16_to_float32,
    .float32_to_float16 = scalar::float32_to_float16,
    .float32_to_bfloat16 = scalar::float32_to_bfloat16,
    .float32_to_e4m3fn = scalar::float32_to_float8<kE4m3fn>,
    .float32_to_e4m3fnuz = scalar::float32_to_float8<kE4m3fnuz>,
    .float32_to_e5m2 = scalar::float32_to_float8<kE5m2>,
    .float32_to_e5m2fnuz = scalar::float32_to_float8<kE5m2fnuz>,
    .count_between = scalar::count_between,
    .look_up = scalar::look_up,
    .read_varints = scalar::read_varints,
    .crc32 = scalar::crc32,
    .float16 = &scalar::kLoops<Float16, scalar::float16_to_float32>,
    .bfloat16 = &scalar::kBfloat16Loops,
    .float32 = &scalar::kFloat32Loops,
    .float64 = &scalar::kFloat64Loops,
};

}  // namespace onnxmap::kernels
