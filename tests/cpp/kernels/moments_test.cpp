#include "kernels/moments.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "each_kernel_set.hpp"
#include "kernels/integer_loops.hpp"
#include "kernels/scalar.hpp"
#include "placed_bytes.hpp"
#include "slow_kernels.hpp"

namespace onnxmap::test {

namespace {

using kernels::KernelSet;
using kernels::MomentLoops;
using kernels::Moments;
using kernels::Sums;

struct SummedType {
    std::string name;
    const MomentLoops* KernelSet::* loops;
    std::size_t nbytes;
    std::uint64_t infinity;
};

const SummedType kSummedTypes[] = {
    {"float16", &KernelSet::float16, 2, 0x7c00},
    {"bfloat16", &KernelSet::bfloat16, 2, 0x7f80},
    {"float32", &KernelSet::float32, 4, 0x7f80'0000},
    {"float64", &KernelSet::float64, 8, 0x7ff0'0000'0000'0000},
};

std::uint64_t code_at(const SummedType& type, ByteView bytes, std::size_t i) {
    std::uint64_t code = 0;
    std::memcpy(&code, bytes.data() + i * type.nbytes, type.nbytes);
    return code;
}

double number(const SummedType& type, std::uint64_t code) {
    if (type.nbytes == 8) return std::bit_cast<double>(code);
    if (type.nbytes == 4) return float32_value(static_cast<std::uint32_t>(code));
    const Ieee& format = type.name == "float16" ? kHalf : kBrain;
    const auto half = static_cast<std::uint32_t>(code);
    return is_nan(format, half) ? std::nan("") : value_of(format, half);
}

std::vector<double> numbers(const SummedType& type, ByteView bytes) {
    std::vector<double> found;
    for (std::size_t i = 0; i * type.nbytes < bytes.size(); ++i) {
        found.push_back(number(type, code_at(type, bytes, i)));
    }
    return found;
}

// The sum in the documented order: element i goes to lane i % 8.
Sums sum_slowly(const std::vector<double>& values) {
    double sum[8] = {};
    double squares[8] = {};
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isfinite(values[i])) continue;
        sum[i % 8] += values[i];
        squares[i % 8] += values[i] * values[i];
    }
    const auto total = [](const double (&lanes)[8]) {
        return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
               ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    };
    return {total(sum), total(squares)};
}

void check_summary(const Moments& found, const std::vector<double>& values) {
    Moments expected;
    for (const double value : values) {
        expected.not_finite += std::isfinite(value) ? 0U : 1U;
        expected.infinities += std::isinf(value) ? 1U : 0U;
        expected.zeros += value == 0 ? 1U : 0U;
        if (!std::isfinite(value)) continue;
        expected.least = std::fmin(expected.least, value);
        expected.most = std::fmax(expected.most, value);
    }
    REQUIRE(found.not_finite == expected.not_finite);
    REQUIRE(found.infinities == expected.infinities);
    REQUIRE(found.zeros == expected.zeros);
    REQUIRE(found.least == expected.least);
    REQUIRE(found.most == expected.most);
    REQUIRE(!(found.least == 0 && std::signbit(found.least)));
    REQUIRE(!(found.most == 0 && std::signbit(found.most)));
    const Sums sums = sum_slowly(values);
    REQUIRE(std::bit_cast<std::uint64_t>(found.sum) == std::bit_cast<std::uint64_t>(sums.sum));
    REQUIRE(std::bit_cast<std::uint64_t>(found.sum_of_squares) ==
            std::bit_cast<std::uint64_t>(sums.sum_of_squares));
}

// Random bits; or plain numbers with a few that are not finite or zero.
Bytes elements(const SummedType& type, std::mt19937_64& random, std::size_t count) {
    Bytes bytes;
    const bool plain = random() % 2 == 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t code = random();
        if (plain) {  // with an exponent that is neither the largest nor the smallest
            const std::uint64_t one = (type.infinity >> 1) & type.infinity;
            code = (code & ~type.infinity) | one;
            if (random() % 16 == 0) code = random() % 2 == 0 ? type.infinity : 0;
            if (random() % 16 == 0) code |= 1ULL << (8 * type.nbytes - 1);
        }
        append(bytes, little_endian(code, type.nbytes));
    }
    return bytes;
}

}  // namespace

TEST_CASE("moments: every set finds the same bits as a plain loop") {
    GuardedPages pages(100 * 8);
    std::mt19937_64 random(1);
    with_each_set([&](const KernelSet& set) {
        for (const SummedType& type : kSummedTypes) {
            CAPTURE(type.name);
            for (std::size_t count = 0; count <= 100; ++count) {
                const Bytes from = elements(type, random, count);
                const std::vector<double> values = numbers(type, from);
                check_summary((set.*type.loops)->summarize(pages.place(from).data(), count),
                              values);
                check_summary((set.*type.loops)->summarize(pages.place_first(from).data(), count),
                              values);
            }
        }
    });
}

TEST_CASE("moments: sums around a number") {
    GuardedPages pages(100 * 8);
    std::mt19937_64 random(2);
    with_each_set([&](const KernelSet& set) {
        for (const SummedType& type : kSummedTypes) {
            CAPTURE(type.name);
            for (std::size_t count = 0; count <= 100; ++count) {
                const Bytes from = elements(type, random, count);
                const double scale = count % 2 == 0 ? 1 : 0x1p-600;
                const double shift = count % 3 == 0 ? 0 : 1.7;
                std::vector<double> values = numbers(type, from);
                for (double& value : values) {
                    if (std::isfinite(value)) value = value * scale - shift;
                }
                const Sums expected = sum_slowly(values);
                const Sums found =
                    (set.*type.loops)->sum_around(pages.place(from).data(), count, scale, shift);
                REQUIRE(std::bit_cast<std::uint64_t>(found.sum) ==
                        std::bit_cast<std::uint64_t>(expected.sum));
                REQUIRE(std::bit_cast<std::uint64_t>(found.sum_of_squares) ==
                        std::bit_cast<std::uint64_t>(expected.sum_of_squares));
            }
        }
    });
}

TEST_CASE("moments: a square is rounded before it is added, on every processor") {
    double values[17] = {};  // element 16 has the lane of elements 0 and 8
    values[0] = values[8] = 0x1p-27;
    values[16] = 1 + 0x1p-30;
    with_each_set([&](const KernelSet& set) {
        const auto* const from = reinterpret_cast<const std::uint8_t*>(values);
        // A fused multiply-add would round up.
        CHECK(set.float64->summarize(from, 17).sum_of_squares == 1 + 0x1p-29);
    });
}

TEST_CASE("moments: many odd values are all counted") {
    constexpr std::size_t kCount = 300'001;
    for (const SummedType& type : kSummedTypes) {
        CAPTURE(type.name);
        Bytes from;
        for (std::size_t i = 0; i < kCount; ++i) {
            append(from, little_endian(i % 3 == 0 ? 0 : type.infinity + i % 3 - 1, type.nbytes));
        }
        with_each_set([&](const KernelSet& set) {
            const Moments found = (set.*type.loops)->summarize(from.data(), kCount);
            CHECK(found.zeros == 100'001);
            CHECK(found.not_finite == 200'000);
            CHECK(found.infinities == 100'000);
            CHECK(found.least == 0);
        });
    }
}

TEST_CASE("moments: many zeros are all counted") {
    constexpr std::size_t kCount = 2'200'003;  // more than 65535 in each of 16 lanes, twice
    const Bytes zeros(8 * kCount);
    with_each_set([&](const KernelSet& set) {
        for (const SummedType& type : kSummedTypes) {
            CAPTURE(type.name);
            const Moments found = (set.*type.loops)->summarize(zeros.data(), kCount);
            CHECK(found.zeros == kCount);
            CHECK(found.not_finite == 0);
        }
    });
}

TEST_CASE("moments: extremes in the lanes of 16-bit elements") {
    with_each_set([&](const KernelSet& set) {
        for (const SummedType& type : {kSummedTypes[0], kSummedTypes[1]}) {
            CAPTURE(type.name);
            for (std::size_t at = 0; at < 48; ++at) {
                for (const std::uint64_t code : {0xc000U, 0x4000U, 0x8001U, 0x0001U}) {
                    Bytes from;
                    for (std::size_t i = 0; i < 48; ++i) {
                        append(from, little_endian(i == at ? code : 0x0000, 2));
                    }
                    check_summary((set.*type.loops)->summarize(from.data(), 48),
                                  numbers(type, from));
                }
            }
        }
    });
}

TEST_CASE("codes: each byte is counted") {
    GuardedPages pages(1000);
    std::mt19937_64 random(3);
    for (std::size_t count = 0; count <= 1000; count += count < 40 ? 1 : 137) {
        Bytes from(count);
        for (std::uint8_t& byte : from) byte = static_cast<std::uint8_t>(random() % 5 * 60);
        kernels::CodeCounts found{};
        found[7] = 2;  // the counts are added to what is there
        kernels::count_codes(pages.place(from).data(), count, found);
        kernels::CodeCounts expected{};
        expected[7] = 2;
        for (const std::uint8_t byte : from) ++expected[byte];
        REQUIRE(found == expected);
    }
}

TEST_CASE("codes: integers become numbers") {
    const Bytes from = join(Bytes(1), little_endian(0xffff'fffe, 4), little_endian(7, 4));
    double signed_numbers[2];
    double unsigned_numbers[2];
    kernels::to_floats<std::int32_t>(from.data() + 1, 2, signed_numbers);
    kernels::to_floats<std::uint32_t>(from.data() + 1, 2, unsigned_numbers);
    CHECK(signed_numbers[0] == -2);
    CHECK(signed_numbers[1] == 7);
    CHECK(unsigned_numbers[0] == 4'294'967'294);
}

}  // namespace onnxmap::test
