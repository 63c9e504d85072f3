#include "kernels/float_rounding.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>

#include "slow_kernels.hpp"

namespace onnxmap::test {

namespace {

using kernels::bfloat16_to_float32;
using kernels::float16_to_float32;
using kernels::float32_to_bfloat16;
using kernels::float32_to_float16;

constexpr std::uint32_t kQuietNan = 0x7fc0'0000;

// The expected result of float32_to_float16: for NaN that of NumPy's npy_floatbits_to_halfbits, for
// numbers the nearest float16.
std::uint16_t expected_float16(std::uint32_t bits) {
    const std::uint32_t sign = bits >> 16 & 0x8000;
    if ((bits & 0x7fff'ffff) > 0x7f80'0000) {
        const std::uint32_t payload = bits >> 13 & 0x03ff;
        return static_cast<std::uint16_t>(sign | 0x7c00 | (payload == 0 ? 1 : payload));
    }
    return static_cast<std::uint16_t>(nearest_code(kHalf, float32_value(bits)));
}

std::uint16_t expected_bfloat16(std::uint32_t bits) {
    const std::uint32_t sign = bits >> 16 & 0x8000;
    if ((bits & 0x7fff'ffff) > 0x7f80'0000) return static_cast<std::uint16_t>(sign | 0x7fc0);
    return static_cast<std::uint16_t>(nearest_code(kBrain, float32_value(bits)));
}

bool rounds_right(std::uint32_t bits) {
    return float32_to_float16(bits) == expected_float16(bits) &&
           float32_to_bfloat16(bits) == expected_bfloat16(bits);
}

}  // namespace

TEST_CASE("rounding: every float16 keeps its value as float32") {
    for (std::uint32_t code = 0; code < 0x1'0000; ++code) {
        const std::uint32_t bits = float16_to_float32(static_cast<std::uint16_t>(code));
        CAPTURE(code);
        if (is_nan(kHalf, code)) {
            // The payload moves to the top of the longer mantissa, for quiet and signalling NaN
            // alike.
            REQUIRE(bits == ((code & 0x8000) << 16 | 0x7f80'0000 | (code & 0x03ff) << 13));
        } else {
            REQUIRE(float32_value(bits) == value_of(kHalf, code));
            REQUIRE((bits >> 31) == code >> 15);
        }
    }
}

TEST_CASE("rounding: every bfloat16 is the upper half of a float32") {
    for (std::uint32_t code = 0; code < 0x1'0000; ++code) {
        const std::uint32_t bits = bfloat16_to_float32(static_cast<std::uint16_t>(code));
        REQUIRE(bits == code << 16);
        if (!is_nan(kBrain, code)) REQUIRE(float32_value(bits) == value_of(kBrain, code));
    }
}

TEST_CASE("rounding: every 16-bit value survives the way to float32 and back") {
    for (std::uint32_t code = 0; code < 0x1'0000; ++code) {
        const auto half = static_cast<std::uint16_t>(code);
        CAPTURE(code);
        REQUIRE(float32_to_float16(float16_to_float32(half)) == half);
        const bool nan = is_nan(kBrain, code);
        const std::uint32_t back = nan ? (code & 0x8000) | 0x7fc0 : code;
        REQUIRE(float32_to_bfloat16(bfloat16_to_float32(half)) == back);
    }
}

TEST_CASE("rounding: ties go to the even neighbour, everything else to the nearest") {
    // Between each float16 and the next: the middle, and the float32 on either side of it.
    for (std::uint32_t code = 0; code < 0x7c00; ++code) {
        const double low = value_of(kHalf, code);
        const double high = code + 1 == 0x7c00 ? 65536.0 : value_of(kHalf, code + 1);
        const auto middle = std::bit_cast<std::uint32_t>(static_cast<float>((low + high) / 2));
        REQUIRE(float32_value(middle) == (low + high) / 2);
        const std::uint32_t even = code % 2 == 0 ? code : code + 1;
        CAPTURE(code);
        for (const std::uint32_t sign : {0U, 1U}) {
            const std::uint32_t at = middle | sign << 31;
            REQUIRE(float32_to_float16(at) == (even | sign << 15));
            REQUIRE(float32_to_float16(at - 1) == (code | sign << 15));
            REQUIRE(float32_to_float16(at + 1) == ((code + 1) | sign << 15));
        }
    }
    for (std::uint32_t code = 0; code < 0x7f80; ++code) {
        const std::uint32_t middle = code << 16 | 0x8000;
        const std::uint32_t even = code % 2 == 0 ? code : code + 1;
        CAPTURE(code);
        REQUIRE(float32_to_bfloat16(middle) == even);
        REQUIRE(float32_to_bfloat16(middle - 1) == code);
        REQUIRE(float32_to_bfloat16(middle + 1) == code + 1);
        REQUIRE(float32_to_bfloat16(middle | 0x8000'0000) == (even | 0x8000));
    }
}

TEST_CASE("rounding: the ends of the range, written out") {
    CHECK(float32_to_float16(0x477f'efff) == 0x7bff);  // just below 65520
    CHECK(float32_to_float16(0x477f'f000) == 0x7c00);  // 65520: halfway to 65536, so infinity
    CHECK(float32_to_float16(0x4780'0000) == 0x7c00);  // 65536
    CHECK(float32_to_float16(0x7f7f'ffff) == 0x7c00);
    CHECK(float32_to_float16(0xff80'0000) == 0xfc00);
    CHECK(float32_to_float16(0x3880'0000) == 0x0400);  // 2^-14, the smallest normal number
    CHECK(float32_to_float16(0x387f'ffff) == 0x0400);
    CHECK(float32_to_float16(0x3380'0000) == 0x0001);  // 2^-24, the smallest number
    CHECK(float32_to_float16(0x3300'0001) == 0x0001);
    CHECK(float32_to_float16(0x3300'0000) == 0x0000);  // 2^-25: half the smallest, rounds to even
    CHECK(float32_to_float16(0xb300'0000) == 0x8000);
    CHECK(float32_to_float16(0x33c0'0000) == 0x0002);  // 1.5 times the smallest, rounds to even
    CHECK(float32_to_float16(0x0000'0001) == 0x0000);  // a subnormal float32
    CHECK(float32_to_float16(0x807f'ffff) == 0x8000);
    CHECK(float16_to_float32(0x0001) == 0x3380'0000);
    CHECK(float16_to_float32(0x83ff) == 0xb87f'c000);
    CHECK(float16_to_float32(0x7c00) == 0x7f80'0000);

    CHECK(float32_to_bfloat16(0x7f7f'7fff) == 0x7f7f);
    CHECK(float32_to_bfloat16(0x7f7f'8000) == 0x7f80);  // rounds to infinity
    CHECK(float32_to_bfloat16(0x0000'8000) == 0x0000);  // subnormals round like the others
    CHECK(float32_to_bfloat16(0x0000'8001) == 0x0001);
    CHECK(float32_to_bfloat16(0x0001'8000) == 0x0002);
    CHECK(float32_to_bfloat16(0xff80'0000) == 0xff80);
}

TEST_CASE("rounding: NaN stays NaN") {
    CHECK(float32_to_float16(kQuietNan) == 0x7e00);
    CHECK(float32_to_float16(0x7f80'0001) == 0x7c01);  // the payload has only low bits
    CHECK(float32_to_float16(0x7f80'1fff) == 0x7c01);
    CHECK(float32_to_float16(0x7f80'2000) == 0x7c01);
    CHECK(float32_to_float16(0xffff'ffff) == 0xffff);
    CHECK(float32_to_float16(0xff81'2345) == 0xfc09);
    CHECK(float16_to_float32(0x7c01) == 0x7f80'2000);  // a signalling NaN stays signalling
    CHECK(float16_to_float32(0xfe00) == 0xffc0'0000);
    CHECK(float32_to_bfloat16(kQuietNan) == 0x7fc0);
    CHECK(float32_to_bfloat16(0x7f80'0001) == 0x7fc0);
    CHECK(float32_to_bfloat16(0x7fff'ffff) == 0x7fc0);  // adding the rounding bit could overflow
    CHECK(float32_to_bfloat16(0xffff'ffff) == 0xffc0);
}

TEST_CASE("rounding: random float32 and those around each power of two") {
    std::mt19937_64 random(1);
    for (int i = 0; i < 200'000; ++i) {
        const auto bits = static_cast<std::uint32_t>(random());
        CAPTURE(bits);
        REQUIRE(rounds_right(bits));
    }
    for (std::uint32_t exponent = 0; exponent < 512; ++exponent) {
        for (std::uint32_t k = 0; k < 64; ++k) {
            const std::uint32_t bits = (exponent << 23) + (k << 12) - (k % 3);
            CAPTURE(bits);
            REQUIRE(rounds_right(bits));
        }
    }
}

}  // namespace onnxmap::test
