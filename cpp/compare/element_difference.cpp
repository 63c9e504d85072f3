#include "compare/element_difference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstring>
#include <limits>
#include <span>

#include "onnx/code_format.hpp"

namespace onnxmap::compare {

using onnx::DataType;

namespace {

// Most elements of a changed tensor may be equal: equal blocks of this many are passed over.
constexpr std::uint64_t kBlock = 64;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
T load(const std::uint8_t* p) noexcept {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

// The distance of two integers is exact.
template <std::integral T>
bool is_nan(T) noexcept {
    return false;
}
template <std::integral T>
std::uint64_t distance(T a, T b) noexcept {
    return a > b ? static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)
                 : static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
}

bool is_nan(double number) noexcept { return std::isnan(number); }
// The same number has the distance 0 from itself, even if it is infinite.
double distance(double a, double b) noexcept { return a == b ? 0 : std::abs(a - b); }

template <class T>
double magnitude(T number) noexcept {
    return std::abs(static_cast<double>(number));
}

using Pair = std::complex<double>;
bool is_nan(Pair pair) noexcept { return std::isnan(pair.real()) || std::isnan(pair.imag()); }
double distance(Pair a, Pair b) noexcept {
    return std::hypot(distance(a.real(), b.real()), distance(a.imag(), b.imag()));
}
double magnitude(Pair pair) noexcept { return std::hypot(pair.real(), pair.imag()); }

// The elements of a type: how many bytes each has, and its number.
template <class T>
struct Numbers {
    static constexpr std::uint32_t kSize = sizeof(T);

    static T number(const std::uint8_t* p) noexcept { return load<T>(p); }
};

struct Booleans {
    static constexpr std::uint32_t kSize = 1;

    static int number(const std::uint8_t* p) noexcept { return *p != 0 ? 1 : 0; }
};

template <class T>
struct Complex {
    static constexpr std::uint32_t kSize = 2 * sizeof(T);

    static Pair number(const std::uint8_t* p) noexcept {
        return {load<T>(p), load<T>(p + sizeof(T))};
    }
};

// Integers of a few bits, one to a byte, in two's complement.
struct SignedCodes {
    static constexpr std::uint32_t kSize = 1;

    std::uint32_t bits;

    [[nodiscard]] int number(const std::uint8_t* p) const noexcept {
        const int top = 1 << (bits - 1);
        return ((*p & (2 * top - 1)) ^ top) - top;
    }
};

// Floats whose float32 is in a table, or is computed if there is no table.
template <class Code>
struct FloatCodes {
    static constexpr std::uint32_t kSize = sizeof(Code);

    const onnx::DataTypeInfo& type;
    std::span<const float> table;

    [[nodiscard]] float number(const std::uint8_t* p) const noexcept {
        const auto code = load<Code>(p);
        if (!table.empty()) return table[code];
        return std::bit_cast<float>(onnx::float32_bits(type.format, type.bits, code));
    }
};

template <class Number, class Distance>
double relative_of(Number a, Number b, Distance distance) noexcept {
    if (distance == 0) return 0;
    const double larger = std::max(magnitude(a), magnitude(b));
    return std::isinf(larger) ? kInfinity : static_cast<double>(distance) / larger;
}

// Whether two numbers, neither of them NaN, are as close as the options ask.
template <class Number, class Distance>
bool is_close(const Options& options, Distance distance, Number b) noexcept {
    if (distance == 0) return true;
    const double size = magnitude(b);
    return std::isfinite(size) &&
           static_cast<double>(distance) <= options.absolute + options.relative * size;
}

template <class Element>
ElementDifference compare_as(const Element& element, const Options& options, const std::uint8_t* a,
                             const std::uint8_t* b, std::uint64_t begin, std::uint64_t count) {
    constexpr std::uint32_t size = Element::kSize;
    ElementDifference found;
    found.count = count;
    using Number = decltype(element.number(a));
    decltype(distance(Number(), Number())) most{};
    double most_relative = 0;
    std::uint64_t at = 0;
    std::uint64_t relative_at = 0;
    bool measured = false;
    const bool exact = options.is_exact();
    for (std::uint64_t block = 0; block < count; block += kBlock) {
        const std::uint64_t end = std::min(count, block + kBlock);
        if (std::memcmp(a + block * size, b + block * size, (end - block) * size) == 0) continue;
        for (std::uint64_t i = block; i < end; ++i) {
            const std::uint8_t* const in_a = a + i * size;
            const std::uint8_t* const in_b = b + i * size;
            if (std::memcmp(in_a, in_b, size) == 0) continue;
            const Number x = element.number(in_a);
            const Number y = element.number(in_b);
            const bool nan_a = is_nan(x);
            const bool nan_b = is_nan(y);
            if (nan_a || nan_b) {
                if (nan_a && nan_b && !exact) continue;
                ++found.changed;
                if (nan_a != nan_b) ++found.nan_changed;
                continue;
            }
            const auto apart = distance(x, y);
            if (!exact && is_close(options, apart, y)) continue;
            ++found.changed;
            if (!measured || apart > most) {
                most = apart;
                at = begin + i;
            }
            const double relative = relative_of(x, y, apart);
            if (!measured || relative > most_relative) {
                most_relative = relative;
                relative_at = begin + i;
            }
            measured = true;
        }
    }
    if (measured) {
        found.absolute = Largest{most, at};
        found.relative = Largest{most_relative, relative_at};
    }
    return found;
}

void merge_largest(std::optional<Largest>& into, const std::optional<Largest>& found) {
    if (!found) return;
    const bool larger = into && into->number < found->number;
    const bool earlier = into && into->number == found->number && found->at < into->at;
    if (!into || larger || earlier) into = found;
}

}  // namespace

void merge(ElementDifference& into, const ElementDifference& found) {
    into.count += found.count;
    into.changed += found.changed;
    into.nan_changed += found.nan_changed;
    merge_largest(into.absolute, found.absolute);
    merge_largest(into.relative, found.relative);
}

ElementComparison::ElementComparison(const onnx::DataTypeInfo& type, std::uint64_t count,
                                     const Options& options)
    : type_(type), options_(options) {
    const std::uint64_t codes = std::uint64_t{1} << std::min<std::uint32_t>(type.bits, 17);
    // A table that has more entries than the tensor has elements would take longer than it saves.
    if (!type.format.is_float() || type.bits > 16 || count < codes) return;
    table_.resize(std::max<std::uint64_t>(codes, 256));  // a byte may have unused bits
    for (std::uint32_t code = 0; code < table_.size(); ++code) {
        table_[code] = std::bit_cast<float>(onnx::float32_bits(type.format, type.bits, code));
    }
}

ElementDifference ElementComparison::compare(const std::uint8_t* a, const std::uint8_t* b,
                                             std::uint64_t begin, std::uint64_t count) const {
    const auto as = [&](const auto& element) {
        return compare_as(element, options_, a, b, begin, count);
    };
    switch (type_.type) {
        case DataType::BOOL: return as(Booleans{});
        case DataType::INT2:
        case DataType::INT4: return as(SignedCodes{type_.bits});
        case DataType::INT8: return as(Numbers<std::int8_t>{});
        case DataType::INT16: return as(Numbers<std::int16_t>{});
        case DataType::UINT16: return as(Numbers<std::uint16_t>{});
        case DataType::INT32: return as(Numbers<std::int32_t>{});
        case DataType::UINT32: return as(Numbers<std::uint32_t>{});
        case DataType::INT64: return as(Numbers<std::int64_t>{});
        case DataType::UINT64: return as(Numbers<std::uint64_t>{});
        case DataType::FLOAT: return as(Numbers<float>{});
        case DataType::DOUBLE: return as(Numbers<double>{});
        case DataType::COMPLEX64: return as(Complex<float>{});
        case DataType::COMPLEX128: return as(Complex<double>{});
        default: break;
    }
    if (!type_.format.is_float()) return as(Numbers<std::uint8_t>{});  // UINT8, UINT4, UINT2
    if (type_.bits > 8) return as(FloatCodes<std::uint16_t>{type_, table_});
    return as(FloatCodes<std::uint8_t>{type_, table_});
}

}  // namespace onnxmap::compare
