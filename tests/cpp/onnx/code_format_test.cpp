#include "onnx/code_format.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "onnx/data_type.hpp"
#include "slow_kernels.hpp"

namespace onnxmap::test {

namespace {

using enum onnx::DataType;

constexpr std::uint32_t kNan = 0x7fc0'0000;
constexpr std::uint32_t kNegativeNan = 0xffc0'0000;
constexpr std::uint32_t kInfinity = 0x7f80'0000;
constexpr std::uint32_t kNegativeZero = 0x8000'0000;

std::uint32_t bits_of(onnx::DataType type, std::uint32_t code) {
    const onnx::DataTypeInfo& info = onnx::data_type(type);
    return onnx::float32_bits(info.format, info.bits, code);
}

float value_of_code(onnx::DataType type, std::uint32_t code) {
    return std::bit_cast<float>(bits_of(type, code));
}

// The codes from 0 on have these values. With the sign bit they have the negative values.
void check_values(onnx::DataType type, const std::vector<float>& values) {
    for (std::uint32_t code = 0; code < values.size(); ++code) {
        CAPTURE(code);
        CHECK(value_of_code(type, code) == values[code]);
        const auto sign = static_cast<std::uint32_t>(values.size());
        CHECK(bits_of(type, code | sign) == (bits_of(type, code) | kNegativeZero));
    }
}

// (-1)^s * 2^(e - bias) * (1 + m / 2^M); if e is zero, 2^(1 - bias) * m / 2^M.
double by_definition(std::uint32_t code, int mantissa_bits, int exponent_bits, int bias) {
    const auto mantissa = static_cast<double>(code & ((1U << mantissa_bits) - 1));
    const auto exponent = static_cast<int>(code >> mantissa_bits & ((1U << exponent_bits) - 1));
    const double sign = (code >> (mantissa_bits + exponent_bits)) != 0 ? -1.0 : 1.0;
    const double fraction = mantissa / std::ldexp(1.0, mantissa_bits);
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
    return sign * std::ldexp(1.0 + fraction, exponent - bias);
}

struct Float8 {
    onnx::DataType type;
    int exponent_bits;
    int mantissa_bits;
    int bias;
};

// Source: the table of docs/docsgen/source/technical/float8.md of ONNX.
constexpr Float8 kFloat8[] = {
    {FLOAT8E4M3FN, 4, 3, 7},
    {FLOAT8E4M3FNUZ, 4, 3, 8},
    {FLOAT8E5M2, 5, 2, 15},
    {FLOAT8E5M2FNUZ, 5, 2, 16},
};

}  // namespace

TEST_CASE("code_format: all values of float4 and float6") {
    check_values(FLOAT4E2M1, {0, 0.5F, 1, 1.5F, 2, 3, 4, 6});
    check_values(FLOAT6E2M3, {0, 0.125F, 0.25F, 0.375F, 0.5F, 0.625F, 0.75F, 0.875F,
                              1, 1.125F, 1.25F, 1.375F, 1.5F, 1.625F, 1.75F, 1.875F,
                              2, 2.25F,  2.5F,  2.75F,  3,    3.25F,  3.5F,  3.75F,
                              4, 4.5F,   5,     5.5F,   6,    6.5F,   7,     7.5F});
    check_values(FLOAT6E3M2, {0,    0.0625F, 0.125F, 0.1875F, 0.25F, 0.3125F, 0.375F, 0.4375F,
                              0.5F, 0.625F,  0.75F,  0.875F,  1,     1.25F,   1.5F,   1.75F,
                              2,    2.5F,    3,      3.5F,    4,     5,       6,      7,
                              8,    10,      12,     14,      16,    20,      24,     28});
}

TEST_CASE("code_format: integers of two and four bits") {
    const float int4[] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
    const float int2[] = {0, 1, -2, -1};
    for (std::uint32_t code = 0; code < 16; ++code) {
        CHECK(value_of_code(INT4, code) == int4[code]);
        CHECK(value_of_code(UINT4, code) == static_cast<float>(code));
        CHECK(value_of_code(INT2, code) == int2[code % 4]);
        CHECK(value_of_code(UINT2, code) == static_cast<float>(code % 4));
    }
    CHECK(bits_of(INT4, 0xf8) == bits_of(INT4, 0x08));  // bits above the code are ignored
}

TEST_CASE("code_format: every float8 has the value of its definition") {
    for (const Float8& format : kFloat8) {
        CAPTURE(static_cast<int>(format.type));
        for (std::uint32_t code = 0; code < 256; ++code) {
            const std::uint32_t bits = bits_of(format.type, code);
            const auto value = static_cast<double>(std::bit_cast<float>(bits));
            if (std::isnan(value) || std::isinf(value)) continue;  // see the next case
            CAPTURE(code);
            CHECK(value ==
                  by_definition(code, format.mantissa_bits, format.exponent_bits, format.bias));
            CHECK((bits >> 31) == code >> 7);
        }
    }
}

TEST_CASE("code_format: the codes without a number are NaN or infinity") {
    for (std::uint32_t code = 0; code < 256; ++code) {
        CAPTURE(code);
        const auto special = [&](onnx::DataType type) {
            const std::uint32_t bits = bits_of(type, code);
            return (bits & kInfinity) == kInfinity ? bits : 0;
        };
        CHECK(special(FLOAT8E4M3FN) == (code == 0x7f ? kNan : code == 0xff ? kNegativeNan : 0));
        CHECK(special(FLOAT8E4M3FNUZ) == (code == 0x80 ? kNegativeNan : 0));
        CHECK(special(FLOAT8E5M2FNUZ) == (code == 0x80 ? kNegativeNan : 0));
        CHECK(special(FLOAT8E8M0) == (code == 0xff ? kNan : 0));
        const std::uint32_t sign = code >> 7 << 31;
        const std::uint32_t magnitude = code & 0x7f;
        CHECK(special(FLOAT8E5M2) == (magnitude == 0x7c  ? sign | kInfinity
                                      : magnitude > 0x7c ? sign | kNan
                                                         : 0));
    }
}

TEST_CASE("code_format: the largest and smallest values of each float8") {
    CHECK(value_of_code(FLOAT8E4M3FN, 0x7e) == 448);
    CHECK(value_of_code(FLOAT8E4M3FN, 0xfe) == -448);
    CHECK(value_of_code(FLOAT8E4M3FN, 0x01) == 0x1p-9F);
    CHECK(value_of_code(FLOAT8E4M3FN, 0x08) == 0x1p-6F);
    CHECK(value_of_code(FLOAT8E4M3FNUZ, 0x7f) == 240);
    CHECK(value_of_code(FLOAT8E4M3FNUZ, 0x01) == 0x1p-10F);
    CHECK(value_of_code(FLOAT8E5M2, 0x7b) == 57344);
    CHECK(value_of_code(FLOAT8E5M2, 0x01) == 0x1p-16F);
    CHECK(value_of_code(FLOAT8E5M2FNUZ, 0x7f) == 57344);
    CHECK(value_of_code(FLOAT8E5M2FNUZ, 0x01) == 0x1p-17F);
    CHECK(bits_of(FLOAT8E4M3FN, 0x80) == kNegativeZero);
    CHECK(bits_of(FLOAT8E5M2, 0x80) == kNegativeZero);
    CHECK(bits_of(FLOAT8E4M3FN, 0x00) == 0);
}

TEST_CASE("code_format: a float8_e8m0 is a power of two") {
    for (std::uint32_t code = 0; code < 255; ++code) {
        CAPTURE(code);
        const auto expected = static_cast<float>(std::ldexp(1.0, static_cast<int>(code) - 127));
        CHECK(value_of_code(FLOAT8E8M0, code) == expected);
    }
    CHECK(bits_of(FLOAT8E8M0, 0) == 0x0040'0000);  // 2^-127, a subnormal
    CHECK(value_of_code(FLOAT8E8M0, 127) == 1);
    CHECK(value_of_code(FLOAT8E8M0, 254) == 0x1p127F);
}

TEST_CASE("code_format: values of the 16-bit formats") {
    for (std::uint32_t code = 0; code < 0x1'0000; ++code) {
        CAPTURE(code);
        const std::uint32_t sign = code >> 15 << 31;
        const std::uint32_t half = bits_of(FLOAT16, code);
        if (is_nan(kHalf, code)) {
            REQUIRE(half == (sign | kNan));
        } else {
            REQUIRE(float32_value(half) == value_of(kHalf, code));
            REQUIRE((half >> 31) == code >> 15);
        }
        // Except for NaN, a bfloat16 is the upper half of its float32.
        REQUIRE(bits_of(BFLOAT16, code) == (is_nan(kBrain, code) ? sign | kNan : code << 16));
    }
}

}  // namespace onnxmap::test
