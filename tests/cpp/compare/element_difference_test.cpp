#include "compare/element_difference.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "onnx/data_type.hpp"

namespace onnxmap::test {

namespace {

using compare::ElementComparison;
using compare::ElementDifference;
using compare::Largest;

template <class T>
ElementDifference difference(onnx::DataType type, const std::vector<T>& a, const std::vector<T>& b,
                             std::uint64_t begin = 0, const compare::Options& options = {}) {
    const ElementComparison comparison(onnx::data_type(type), a.size(), options);
    return comparison.compare(reinterpret_cast<const std::uint8_t*>(a.data()),
                              reinterpret_cast<const std::uint8_t*>(b.data()), begin, a.size());
}

double number(const std::optional<Largest>& largest) {
    REQUIRE(largest);
    return std::get<double>(largest->number);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("element difference: integers are exact") {
    const auto found =
        difference<std::int64_t>(onnx::DataType::INT64, {INT64_MIN, 5, 7}, {INT64_MAX, 5, 9}, 100);
    CHECK(found.count == 3);
    CHECK(found.changed == 2);
    REQUIRE(found.absolute);
    CHECK(std::get<std::uint64_t>(found.absolute->number) == UINT64_MAX);
    CHECK(found.absolute->at == 100);
}

TEST_CASE("element difference: what has no distance") {
    const std::vector<double> a = {kNan, 1, kNan, kInfinity, 0.0};
    const std::vector<double> b = {kNan, kNan, 2, kInfinity, -0.0};
    const auto found = difference(onnx::DataType::DOUBLE, a, b);
    CHECK(found.changed == 3);
    CHECK(found.nan_changed == 2);
    CHECK(number(found.absolute) == 0);
    CHECK(found.absolute->at == 4);
    const auto none = difference<double>(onnx::DataType::DOUBLE, {kNan}, {1});
    CHECK_FALSE(none.absolute);
    CHECK_FALSE(none.relative);
}

TEST_CASE("element difference: infinities") {
    const auto found = difference<double>(onnx::DataType::DOUBLE, {1, kInfinity}, {2, -kInfinity});
    CHECK(number(found.absolute) == kInfinity);
    CHECK(number(found.relative) == kInfinity);
    CHECK(found.absolute->at == 1);
}

TEST_CASE("element difference: the parts of complex numbers") {
    // Equal infinite real parts are no distance.
    const auto found = difference<std::complex<double>>(
        onnx::DataType::COMPLEX128, {{kInfinity, 3}, {0, 0}}, {{kInfinity, 7}, {3, 4}});
    CHECK(number(found.absolute) == 5);
    CHECK(found.absolute->at == 1);
}

TEST_CASE("element difference: tables and computed values agree") {
    for (const auto type : {onnx::DataType::FLOAT16, onnx::DataType::BFLOAT16}) {
        std::vector<std::uint16_t> codes(1 << 17);
        for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
        std::vector<std::uint16_t> others(codes.size(), 0x3c01);
        const auto with_table = difference(type, codes, others);
        ElementDifference without;
        for (std::size_t begin = 0; begin < codes.size(); begin += 1024) {
            const auto at = static_cast<std::ptrdiff_t>(begin);
            const std::vector<std::uint16_t> a(codes.begin() + at, codes.begin() + at + 1024);
            const std::vector<std::uint16_t> b(others.begin() + at, others.begin() + at + 1024);
            merge(without, difference(type, a, b, begin));
        }
        CHECK(with_table.changed == without.changed);
        CHECK(with_table.nan_changed == without.nan_changed);
        CHECK(with_table.nan_changed > 0);
        CHECK(number(with_table.absolute) == number(without.absolute));
        CHECK(with_table.absolute->at == without.absolute->at);
        CHECK(with_table.relative->at == without.relative->at);
    }
}

TEST_CASE("element difference: numbers that are close enough are the same") {
    const compare::Options options{.absolute = 0.5, .relative = 0.1};
    const std::vector<double> a = {1, 10, 10, kNan, kNan, kInfinity, 1};
    const std::vector<double> b = {1.5, 11.5, 12, -kNan, 1, 1, kInfinity};
    const auto found = difference(onnx::DataType::DOUBLE, a, b, 0, options);
    CHECK(found.changed == 4);
    CHECK(found.nan_changed == 1);
    CHECK(number(found.absolute) == kInfinity);
}

TEST_CASE("element difference: of equal differences the first counts, in any order") {
    ElementDifference total;
    for (const std::uint64_t begin : {8U, 0U, 4U}) {
        merge(total, difference<float>(onnx::DataType::FLOAT, {1, 1}, {2, 1}, begin));
    }
    CHECK(total.count == 6);
    CHECK(total.changed == 3);
    CHECK(total.absolute->at == 0);
    merge(total, {});
    CHECK(total.absolute->at == 0);
}

}  // namespace onnxmap::test
