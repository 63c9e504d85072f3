#include "tensor/float_cast.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "each_kernel_set.hpp"
#include "kernels/scalar.hpp"
#include "placed_bytes.hpp"
#include "slow_kernels.hpp"

namespace onnxmap::test {

namespace {

using enum onnx::DataType;
using tensor::Cast;

const onnx::DataTypeInfo& info_of(onnx::DataType type) { return onnx::data_type(type); }

constexpr std::array kEights = {FLOAT8E4M3FN, FLOAT8E4M3FNUZ, FLOAT8E5M2, FLOAT8E5M2FNUZ};

// The finite values of a type, by their codes without a sign: these are in the order of the values.
std::vector<double> values_of_eight(onnx::DataType type) {
    const onnx::DataTypeInfo& facts = info_of(type);
    std::vector<double> values;
    for (std::uint32_t code = 0; code < 0x80; ++code) {
        const double value = float32_value(onnx::float32_bits(facts.format, 8, code));
        if (std::isfinite(value)) values.push_back(value);
    }
    return values;
}

// The code of the nearest value, and of two the even one; the largest beyond it.
std::uint8_t eight_slowly(onnx::DataType type, double number) {
    const std::vector<double> values = values_of_eight(type);
    const bool is_fnuz = info_of(type).format.numbers == onnx::Numbers::fnuz;
    const std::uint32_t sign = std::signbit(number) ? 0x80 : 0;
    if (std::isnan(number)) {
        return static_cast<std::uint8_t>(is_fnuz ? 0x80
                                                 : sign | (type == FLOAT8E5M2 ? 0x7e : 0x7f));
    }
    const double magnitude = std::min(std::fabs(number), values.back());
    std::uint32_t best = 0;
    for (std::uint32_t code = 1; code < values.size(); ++code) {
        const double before = std::fabs(values[best] - magnitude);
        const double now = std::fabs(values[code] - magnitude);
        if (now < before || (now == before && code % 2 == 0)) best = code;
    }
    return static_cast<std::uint8_t>(is_fnuz && best == 0 ? 0 : sign | best);
}

kernels::Kernel kernel_of(const kernels::KernelSet& set, onnx::DataType type) {
    switch (type) {
        case FLOAT8E4M3FN: return set.float32_to_e4m3fn;
        case FLOAT8E4M3FNUZ: return set.float32_to_e4m3fnuz;
        case FLOAT8E5M2: return set.float32_to_e5m2;
        default: return set.float32_to_e5m2fnuz;
    }
}

// All values of a type, what is halfway between two of them, and the neighbours of each.
std::vector<std::uint32_t> float32_around(onnx::DataType type) {
    std::vector<std::uint32_t> found = {0,           1,           0x007f'ffff,
                                        0x0080'0000, 0x7f7f'ffff, 0x7f80'0000,
                                        0x7f80'0001, 0x7fc0'0000, 0x7fff'ffff};
    std::vector<double> values = values_of_eight(type);
    values.push_back(2 * values.back() - values[values.size() - 2]);
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
        for (const double value : {values[i], (values[i] + values[i + 1]) / 2}) {
            const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
            for (const std::uint32_t each : {bits, bits + 1, bits == 0 ? bits : bits - 1}) {
                found.push_back(each);
            }
        }
    }
    std::mt19937 random(1);
    for (int i = 0; i < 2000; ++i) found.push_back(static_cast<std::uint32_t>(random()));
    const std::size_t count = found.size();
    for (std::size_t i = 0; i < count; ++i) found.push_back(found[i] ^ 0x8000'0000);
    return found;
}

template <class Number>
std::vector<std::uint8_t> bytes_of(const std::vector<Number>& numbers) {
    std::vector<std::uint8_t> bytes(numbers.size() * sizeof(Number));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes;
}

// The code of one double as another type, and whether it is lost.
std::pair<std::uint64_t, bool> cast_one(double number, onnx::DataType to) {
    std::uint64_t code = 0;
    const auto bytes = bytes_of(std::vector{number});
    const tensor::LostValues lost =
        Cast(info_of(DOUBLE), info_of(to))
            .convert(bytes.data(), 1, reinterpret_cast<std::uint8_t*>(&code));
    return {code, lost.too_large == 1};
}

}  // namespace

TEST_CASE("cast: float32 is rounded to each type of 8 bits by every set, and saturates") {
    GuardedPages from(100'000);
    for (const onnx::DataType type : kEights) {
        const std::vector<std::uint32_t> codes = float32_around(type);
        std::vector<std::uint8_t> expected;
        for (const std::uint32_t bits : codes) {
            expected.push_back(eight_slowly(type, float32_value(bits)));
        }
        with_each_set([&](const kernels::KernelSet& set) {
            CAPTURE(std::string(info_of(type).name));
            for (const std::size_t skipped : {0UL, 1UL, 31UL, 33UL}) {
                const std::size_t count = codes.size() - skipped;
                std::vector<std::uint8_t> made(count);
                const std::vector<std::uint32_t> some(codes.begin(),
                                                      codes.end() - std::ptrdiff_t(skipped));
                kernel_of(set, type)(from.place(bytes_of(some)).data(), count, made.data());
                REQUIRE(std::equal(made.begin(), made.end(), expected.begin()));
            }
        });
    }
}

TEST_CASE("cast: every set counts the numbers between two") {
    std::mt19937 random(2);
    std::vector<std::uint32_t> codes(10'007);
    for (std::uint32_t& code : codes) code = static_cast<std::uint32_t>(random());
    const std::uint32_t least = 0x3f80'0000;
    const std::uint32_t most = 0x7f80'0000;
    const auto expected = std::ranges::count_if(codes, [&](std::uint32_t code) {
        const std::uint32_t magnitude = code & 0x7fff'ffff;
        return magnitude >= least && magnitude <= most;
    });
    const auto bytes = bytes_of(codes);
    with_each_set([&](const kernels::KernelSet& set) {
        CHECK(set.count_between(bytes.data(), codes.size(), least, most) ==
              static_cast<std::uint64_t>(expected));
        CHECK(set.count_between(bytes.data(), 0, least, most) == 0);
    });
}

TEST_CASE("cast: what is lost begins half a place beyond the largest number") {
    struct Limit {
        onnx::DataType type;
        float kept;
        float lost;
        bool loses_infinity;
    };
    for (const Limit& limit : {
             Limit{FLOAT16, std::nextafter(65520.0F, 0.0F), 65520.0F, false},
             Limit{BFLOAT16, std::bit_cast<float>(0x7f7f'7fffU), std::bit_cast<float>(0x7f7f'8000U),
                   false},
             Limit{FLOAT8E4M3FN, 464.0F, std::nextafter(464.0F, 500.0F), true},
             Limit{FLOAT8E4M3FNUZ, std::nextafter(248.0F, 0.0F), 248.0F, true},
             Limit{FLOAT8E5M2, std::nextafter(61440.0F, 0.0F), 61440.0F, true},
             Limit{FLOAT8E5M2FNUZ, std::nextafter(61440.0F, 0.0F), 61440.0F, true},
         }) {
        CAPTURE(std::string(info_of(limit.type).name));
        const float infinity = std::numeric_limits<float>::infinity();
        const float nan = std::numeric_limits<float>::quiet_NaN();
        const std::vector<float> numbers = {limit.kept, limit.lost, -limit.kept, -limit.lost,
                                            infinity,   nan,        0.0F,        -infinity};
        const auto bytes = bytes_of(numbers);
        std::array<std::uint8_t, 16> made{};
        const Cast cast(info_of(FLOAT), info_of(limit.type));
        CHECK(cast.convert(bytes.data(), numbers.size(), made.data()).too_large ==
              (limit.loses_infinity ? 4U : 2U));
        CHECK(cast_one(limit.kept, limit.type).second == false);
        CHECK(cast_one(limit.lost, limit.type).second);
        CHECK(cast_one(std::nextafter(static_cast<double>(limit.lost), 0.0), limit.type).second ==
              (limit.type == FLOAT8E4M3FN));
    }
}

TEST_CASE("cast: half of the least number, and what is smaller, vanishes") {
    struct Least {
        onnx::DataType type;
        int exponent;
    };
    for (const Least& least : {Least{FLOAT16, -24}, Least{BFLOAT16, -133}, Least{FLOAT8E4M3FN, -9},
                               Least{FLOAT8E4M3FNUZ, -10}, Least{FLOAT8E5M2, -16},
                               Least{FLOAT8E5M2FNUZ, -17}, Least{FLOAT, -149}}) {
        CAPTURE(std::string(info_of(least.type).name));
        const double half = std::ldexp(1.0, least.exponent - 1);
        const std::vector<double> numbers = {
            half, -half, std::nextafter(half, 1.0), -std::nextafter(half, 1.0), 0.0, -0.0, 1e-300};
        const auto bytes = bytes_of(numbers);
        std::array<std::uint8_t, 28> made{};
        const Cast cast(info_of(DOUBLE), info_of(least.type));
        CHECK(cast.convert(bytes.data(), numbers.size(), made.data()) ==
              tensor::LostValues{.too_large = 0, .vanished = 3});
    }
}

TEST_CASE("cast: a double is rounded once") {
    const double half_place = std::ldexp(1.0, -11);  // of float16, above 1
    CHECK(cast_one(1 + half_place, FLOAT16).first == 0x3c00);
    // As float32, this would be the tie, and that goes to the even neighbour.
    CHECK(cast_one(1 + half_place + std::ldexp(1.0, -40), FLOAT16).first == 0x3c01);
    CHECK(cast_one(1 + 3 * half_place - std::ldexp(1.0, -40), FLOAT16).first == 0x3c01);
    CHECK(cast_one(1 + std::ldexp(1.0, -8) + std::ldexp(1.0, -50), BFLOAT16).first == 0x3f81);
    CHECK(cast_one(1 + std::ldexp(1.0, -4) + std::ldexp(1.0, -50), FLOAT8E4M3FN).first == 0x39);
    CHECK(cast_one(-std::numeric_limits<double>::denorm_min(), FLOAT16).first == 0x8000);
    CHECK(cast_one(1e300, BFLOAT16) == std::pair<std::uint64_t, bool>(0x7f80, true));
    CHECK(cast_one(-1e300, FLOAT) == std::pair<std::uint64_t, bool>(0xff80'0000, true));
    CHECK(cast_one(-HUGE_VAL, FLOAT) == std::pair<std::uint64_t, bool>(0xff80'0000, false));
    CHECK(cast_one(1e300, FLOAT8E5M2) == std::pair<std::uint64_t, bool>(0x7b, true));
}

TEST_CASE("cast: long arrays of all pairs of types, in blocks") {
    std::mt19937 random(3);
    for (const onnx::DataTypeInfo& from : onnx::data_types()) {
        if (!Cast::takes(from)) continue;
        std::vector<std::uint8_t> stored(5003 * from.itemsize());
        for (std::uint8_t& byte : stored) byte = static_cast<std::uint8_t>(random());
        for (const onnx::DataTypeInfo& to : onnx::data_types()) {
            if (!Cast::takes(to) || &from == &to) continue;
            const Cast cast(from, to);
            std::vector<std::uint8_t> whole(5003 * to.itemsize());
            const tensor::LostValues lost = cast.convert(stored.data(), 5003, whole.data());
            std::vector<std::uint8_t> single(whole.size());
            tensor::LostValues sum;
            for (std::size_t i = 0; i < 5003; ++i) {
                sum += cast.convert(stored.data() + i * from.itemsize(), 1,
                                    single.data() + i * to.itemsize());
            }
            CAPTURE(std::string(from.name) + " to " + std::string(to.name));
            CHECK(whole == single);
            CHECK(lost == sum);
        }
    }
}

}  // namespace onnxmap::test
