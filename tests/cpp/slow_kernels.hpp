// The results that the kernels must give, computed in the plainest way: elements bit by bit,
// conversions by exact arithmetic on doubles. It shares no code with the kernels, because it is
// their oracle.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "wire_bytes.hpp"

namespace onnxmap::test {

/// The bit at `position`. Bit 0 is the lowest bit of the first byte.
[[nodiscard]] inline unsigned bit_at(ByteView bytes, std::size_t position) {
    return bytes[position / 8] >> (position % 8) & 1U;
}

/// `count` packed elements of `bits` bits, one in each byte.
[[nodiscard]] inline Bytes unpack_slowly(ByteView packed_bytes, std::size_t bits,
                                         std::size_t count) {
    Bytes codes(count);
    for (std::size_t i = 0; i < count * bits; ++i) {
        const unsigned bit = bit_at(packed_bytes, i) << (i % bits);
        codes[i / bits] = static_cast<std::uint8_t>(codes[i / bits] | bit);
    }
    return codes;
}

/// The low `bits` bits of each byte, packed; the rest of the last byte is zero.
[[nodiscard]] inline Bytes pack_slowly(ByteView codes, std::size_t bits) {
    Bytes bytes((codes.size() * bits + 7) / 8);
    for (std::size_t i = 0; i < codes.size() * bits; ++i) {
        const unsigned bit = (codes[i / bits] >> (i % bits) & 1U) << (i % 8);
        bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] | bit);
    }
    return bytes;
}

/// A binary floating-point format of IEEE 754: sign, exponent, mantissa.
struct Ieee {
    int exponent_bits;
    int mantissa_bits;

    [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    [[nodiscard]] std::uint32_t infinity() const {
        return ((1U << exponent_bits) - 1) << mantissa_bits;
    }
    [[nodiscard]] std::uint32_t sign() const { return 1U << (exponent_bits + mantissa_bits); }
};

inline constexpr Ieee kHalf{5, 10};
inline constexpr Ieee kBrain{8, 7};

[[nodiscard]] inline bool is_nan(const Ieee& format, std::uint32_t code) {
    return (code & (format.sign() - 1)) > format.infinity();
}

/// The value of a code that is not NaN. A double holds it exactly.
[[nodiscard]] inline double value_of(const Ieee& format, std::uint32_t code) {
    const double sign = (code & format.sign()) != 0 ? -1.0 : 1.0;
    const std::uint32_t magnitude = code & (format.sign() - 1);
    if (magnitude == format.infinity()) return sign * std::numeric_limits<double>::infinity();
    const auto exponent = static_cast<int>(magnitude >> format.mantissa_bits);
    const std::uint32_t mantissa = magnitude & ((1U << format.mantissa_bits) - 1);
    const int scale = 1 - format.bias() - format.mantissa_bits;
    if (exponent == 0) return sign * std::ldexp(mantissa, scale);
    const std::uint32_t with_lead = mantissa + (1U << format.mantissa_bits);
    return sign * std::ldexp(with_lead, scale + exponent - 1);
}

/// The code whose value is nearest to a number that is not NaN; of two, the even code.
[[nodiscard]] inline std::uint32_t nearest_code(const Ieee& format, double number) {
    const std::uint32_t sign = std::signbit(number) ? format.sign() : 0;
    const double magnitude = std::fabs(number);
    if (magnitude == 0) return sign;
    if (std::isinf(magnitude)) return sign | format.infinity();
    const int lowest = 1 - format.bias();
    const int exponent = std::max(std::ilogb(magnitude), lowest);
    // In units of the last place; nearbyint() rounds ties to even.
    const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
    // A carry out of the mantissa goes into the exponent, as it should.
    const std::uint32_t base = static_cast<std::uint32_t>(exponent - lowest)
                               << format.mantissa_bits;
    const std::uint32_t code = base + static_cast<std::uint32_t>(units);
    return sign | (code < format.infinity() ? code : format.infinity());
}

[[nodiscard]] inline double float32_value(std::uint32_t bits) {
    return static_cast<double>(std::bit_cast<float>(bits));
}

}  // namespace onnxmap::test
