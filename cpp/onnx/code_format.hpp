// How the bits of one element encode a number. Conversions are derived from these facts.
#pragma once

#include <bit>
#include <cstdint>

namespace onnxmap::onnx {

enum class Numbers : std::uint8_t {
    text,
    boolean,
    unsigned_integer,
    signed_integer,
    complex,
    ieee,      // exponent all ones: infinity, or NaN if the mantissa is not zero
    fn,        // no infinity; all ones below the sign is NaN
    fnuz,      // no infinity and no negative zero: its code is NaN; bias one larger
    finite,    // neither infinity nor NaN
    exponent,  // a power of two without sign; all ones is NaN
};

struct CodeFormat {
    Numbers numbers;
    std::uint8_t exponent_bits = 0;
    std::uint8_t mantissa_bits = 0;

    [[nodiscard]] constexpr bool is_float() const noexcept { return numbers >= Numbers::ieee; }
    [[nodiscard]] constexpr bool has_zero() const noexcept { return numbers != Numbers::exponent; }
};

/// The bits of the float32 that a float or integer code of at most 16 bits stands for. Every value
/// of these types is a float32. A NaN becomes quiet, loses its payload and keeps its sign.
/// Source: onnx.proto's comments of TensorProto.DataType, and ml_dtypes for the bits of NaN.
[[nodiscard]] constexpr std::uint32_t float32_bits(const CodeFormat& format, std::uint32_t bits,
                                                   std::uint32_t code) noexcept {
    constexpr std::uint32_t kQuietNan = 0x7fc0'0000;
    constexpr std::uint32_t kInfinity = 0x7f80'0000;
    constexpr int kBias = 127;

    code &= (1U << bits) - 1;
    if (format.numbers == Numbers::unsigned_integer) {
        return std::bit_cast<std::uint32_t>(static_cast<float>(code));
    }
    const std::uint32_t top = 1U << (bits - 1);
    if (format.numbers == Numbers::signed_integer) {
        const auto number = static_cast<std::int32_t>(code ^ top) - static_cast<std::int32_t>(top);
        return std::bit_cast<std::uint32_t>(static_cast<float>(number));
    }
    if (format.numbers == Numbers::exponent) {
        if (code == (1U << bits) - 1) return kQuietNan;
        return code == 0 ? 0x0040'0000 : code << 23;  // 2^-127 is a subnormal float32
    }

    const std::uint32_t sign = (code & top) == 0 ? 0 : 0x8000'0000;
    const std::uint32_t magnitude = code & (top - 1);
    const std::uint32_t exponent = magnitude >> format.mantissa_bits;
    const std::uint32_t mantissa = magnitude & ((1U << format.mantissa_bits) - 1);
    const std::uint32_t most_exponent = (1U << format.exponent_bits) - 1;
    if (format.numbers == Numbers::fnuz && code == top) return sign | kQuietNan;
    if (format.numbers == Numbers::fn && magnitude == top - 1) return sign | kQuietNan;
    if (format.numbers == Numbers::ieee && exponent == most_exponent) {
        return sign | (mantissa == 0 ? kInfinity : kQuietNan);
    }
    if (magnitude == 0) return sign;

    const int bias = (1 << (format.exponent_bits - 1)) - (format.numbers == Numbers::fnuz ? 0 : 1);
    const std::uint32_t shifted = mantissa << (23 - format.mantissa_bits);
    if (exponent > 0) {
        return sign |
               (static_cast<std::uint32_t>(static_cast<int>(exponent) - bias + kBias) << 23) |
               shifted;
    }
    // Subnormal: moves the leading one into place. All values become normal float32s, except
    // bfloat16's.
    const int lead = std::countl_zero(mantissa) - (31 - format.mantissa_bits);
    const int normal = 1 - bias - lead + kBias;
    if (normal <= 0) return sign | shifted;  // bfloat16: the same exponent, the same scale
    return sign | (static_cast<std::uint32_t>(normal) << 23) | ((shifted << lead) & 0x007f'ffff);
}

}  // namespace onnxmap::onnx
