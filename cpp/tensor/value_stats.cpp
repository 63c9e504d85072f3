#include "tensor/value_stats.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <optional>

#include "kernels/kernel_set.hpp"

namespace onnxmap::tensor {

using onnx::DataType;
using onnx::Numbers;

namespace {

constexpr std::uint64_t kBlockBytes = 1 << 20;

// Elements that are summed at a time: the first-level cache holds them, for a second pass.
constexpr std::uint64_t kAtOnce = 4096;

// Squares of numbers between these are normal doubles, and so are sums of them.
constexpr double kSmall = 0x1p-400;
constexpr double kLarge = 0x1p+400;
// The sum of the squares may be this many times the sum of the squared distances from the mean: a
// difference of the two then loses four bits. Weights are spread around zero, and lose none.
constexpr double kMostLost = 16;

// Sets mean and squares of `stats` from the sums.
void set_spread(const kernels::MomentLoops& loops, const std::uint8_t* bytes, std::uint64_t count,
                const kernels::Moments& moments, ValueStats& stats) {
    if (moments.least == moments.most) {
        stats.mean = moments.least;
        return;
    }
    const auto finite = static_cast<double>(stats.finite);
    double mean = moments.sum / finite;
    const double squares = moments.sum_of_squares - moments.sum * mean;
    const double largest = std::max(std::fabs(moments.least), std::fabs(moments.most));
    const bool is_usual = largest > kSmall && largest < kLarge;
    if (is_usual && squares * kMostLost >= moments.sum_of_squares) {
        stats.mean = mean;
        stats.squares = squares;
        return;
    }
    // The second pass is around the mean. It makes numbers of any size about 1.
    const int exponent = is_usual ? 0 : std::clamp(std::ilogb(largest), -1000, 1000);
    const double scale = std::ldexp(1.0, -exponent);
    if (!is_usual) mean = loops.sum_around(bytes, count, scale, 0).sum / finite;
    const kernels::Sums sums = loops.sum_around(bytes, count, scale, mean);
    const double off = sums.sum / finite;
    stats.mean = std::ldexp(static_cast<long double>(mean) + off, exponent);
    stats.squares =
        std::ldexp(static_cast<long double>(std::max(sums.sum_of_squares - sums.sum * off, 0.0)),
                   2 * exponent);
}

ValueStats of_floats(const kernels::MomentLoops& loops, const std::uint8_t* bytes,
                     std::uint64_t count) {
    const kernels::Moments moments = loops.summarize(bytes, count);
    ValueStats stats;
    stats.count = count;
    stats.finite = count - moments.not_finite;
    stats.zeros = moments.zeros;
    stats.infinities = moments.infinities;
    stats.nans = moments.not_finite - moments.infinities;
    stats.least = moments.least;
    stats.most = moments.most;
    if (stats.finite > 0) set_spread(loops, bytes, count, moments, stats);
    return stats;
}

template <const kernels::MomentLoops* kernels::KernelSet::* kLoops>
ValueStats of_type(const onnx::DataTypeInfo&, const std::uint8_t* bytes, std::uint64_t count) {
    return of_floats(*(kernels::kernels().*kLoops), bytes, count);
}

template <class Float>
ValueStats of_floats(const Float* values, std::uint64_t count) {
    const kernels::KernelSet& set = kernels::kernels();
    return of_floats(sizeof(Float) == 4 ? *set.float32 : *set.float64,
                     reinterpret_cast<const std::uint8_t*>(values), count);
}

// Float holds every Integer, or of 64-bit ones the nearest number.
template <class Integer, class Float>
ValueStats of_integers(const onnx::DataTypeInfo&, const std::uint8_t* bytes, std::uint64_t count) {
    std::array<Float, kAtOnce> values;
    kernels::to_floats<Integer>(bytes, count, values.data());
    return of_floats(values.data(), count);
}

template <class Integer>
ValueStats of_long_integers(const onnx::DataTypeInfo& type, const std::uint8_t* bytes,
                            std::uint64_t count) {
    ValueStats stats = of_integers<Integer, double>(type, bytes, count);
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t bits;
        std::memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
        const std::uint64_t order = order_of(type, bits);
        stats.least_order = std::min(stats.least_order, order);
        stats.most_order = std::max(stats.most_order, order);
    }
    return stats;
}

template <class Float>
ValueStats of_complex(const onnx::DataTypeInfo&, const std::uint8_t* bytes, std::uint64_t count) {
    std::array<double, kAtOnce> real;
    std::array<double, kAtOnce> imaginary;
    ValueStats stats;
    stats.count = count;
    for (std::uint64_t i = 0; i < count; ++i) {
        std::complex<Float> value;
        std::memcpy(&value, bytes + i * sizeof value, sizeof value);
        const Float parts[] = {value.real(), value.imag()};
        const bool is_nan = std::isnan(parts[0]) || std::isnan(parts[1]);
        const bool is_infinite = std::isinf(parts[0]) || std::isinf(parts[1]);
        stats.nans += is_nan ? 1U : 0U;
        stats.infinities += is_infinite ? 1U : 0U;
        if (is_nan || is_infinite) continue;
        stats.zeros += parts[0] == 0 && parts[1] == 0 ? 1U : 0U;
        real[stats.finite] = parts[0];
        imaginary[stats.finite] = parts[1];
        ++stats.finite;
    }
    if (stats.finite == 0) return stats;
    const ValueStats reals = of_floats(real.data(), stats.finite);
    const ValueStats imaginaries = of_floats(imaginary.data(), stats.finite);
    stats.mean = reals.mean;
    stats.imaginary_mean = imaginaries.mean;
    stats.squares = reals.squares + imaginaries.squares;
    return stats;
}

// Adds the codes of `count` elements, of which several are in a byte.
void count_packed(std::uint32_t bits, const std::uint8_t* bytes, std::uint64_t count,
                  kernels::CodeCounts& counts) {
    const std::uint32_t per_byte = 8 / bits;
    const std::uint32_t mask = (1U << bits) - 1;
    kernels::CodeCounts of_bytes{};
    kernels::count_codes(bytes, count / per_byte, of_bytes);
    for (std::uint32_t byte = 0; byte < of_bytes.size(); ++byte) {
        for (std::uint32_t k = 0; k < per_byte; ++k) {
            counts[byte >> (k * bits) & mask] += of_bytes[byte];
        }
    }
    for (std::uint32_t k = 0; k < count % per_byte; ++k) {
        ++counts[static_cast<std::uint32_t>(bytes[count / per_byte]) >> (k * bits) & mask];
    }
}

// Of a type with at most 256 values.
ValueStats of_codes(const onnx::DataTypeInfo& type, const kernels::CodeCounts& counts) {
    ValueStats stats;
    std::array<double, 256> values{};
    long double sum = 0;
    for (std::uint32_t code = 0; code < counts.size(); ++code) {
        const std::uint64_t count = counts[code];
        if (count == 0) continue;
        const double value = value_of(type, code);
        values[code] = value;
        stats.count += count;
        stats.nans += std::isnan(value) ? count : 0;
        stats.infinities += std::isinf(value) ? count : 0;
        if (!std::isfinite(value)) continue;
        stats.finite += count;
        stats.zeros += value == 0 ? count : 0;
        stats.least = std::min(stats.least, value + 0.0);
        stats.most = std::max(stats.most, value + 0.0);
        sum += static_cast<long double>(value) * static_cast<long double>(count);
    }
    if (stats.finite == 0) return stats;
    stats.mean = sum / static_cast<long double>(stats.finite);
    for (std::size_t code = 0; code < counts.size(); ++code) {
        if (counts[code] == 0 || !std::isfinite(values[code])) continue;
        const long double distance = static_cast<long double>(values[code]) - stats.mean;
        stats.squares += distance * distance * static_cast<long double>(counts[code]);
    }
    return stats;
}

using Summarize = ValueStats (*)(const onnx::DataTypeInfo& type, const std::uint8_t* bytes,
                                 std::uint64_t count);

// Makes the facts about at most kAtOnce elements of a type of more than 8 bits.
constexpr std::optional<Summarize> summarizer_of(DataType type) {
    using kernels::KernelSet;
    switch (type) {
        case DataType::FLOAT: return of_type<&KernelSet::float32>;
        case DataType::DOUBLE: return of_type<&KernelSet::float64>;
        case DataType::FLOAT16: return of_type<&KernelSet::float16>;
        case DataType::BFLOAT16: return of_type<&KernelSet::bfloat16>;
        case DataType::INT16: return of_integers<std::int16_t, float>;
        case DataType::UINT16: return of_integers<std::uint16_t, float>;
        case DataType::INT32: return of_integers<std::int32_t, double>;
        case DataType::UINT32: return of_integers<std::uint32_t, double>;
        case DataType::INT64: return of_long_integers<std::int64_t>;
        case DataType::UINT64: return of_long_integers<std::uint64_t>;
        case DataType::COMPLEX64: return of_complex<float>;
        case DataType::COMPLEX128: return of_complex<double>;
        default: return std::nullopt;
    }
}

// A new type of more than 8 bits needs a case in summarizer_of().
#define DATA_TYPE(name, number, bits, ...) \
    static_assert((bits > 8) == summarizer_of(DataType::name).has_value(), #name);
#include "onnx/data_type.def"
#undef DATA_TYPE

}  // namespace

void ValueStats::add(const ValueStats& next) {
    count += next.count;
    zeros += next.zeros;
    nans += next.nans;
    infinities += next.infinities;
    least = std::min(least, next.least);
    most = std::max(most, next.most);
    least_order = std::min(least_order, next.least_order);
    most_order = std::max(most_order, next.most_order);
    if (next.finite == 0) return;
    finite += next.finite;
    const long double share =
        static_cast<long double>(next.finite) / static_cast<long double>(finite);
    const long double real = next.mean - mean;
    const long double imaginary = next.imaginary_mean - imaginary_mean;
    const auto before = static_cast<long double>(finite - next.finite);
    squares += next.squares + (real * real + imaginary * imaginary) * before * share;
    mean += real * share;
    imaginary_mean += imaginary * share;
}

double ValueStats::deviation() const {
    if (finite == 0) return 0;
    return static_cast<double>(std::sqrt(squares / static_cast<long double>(finite)));
}

std::uint64_t block_count(const onnx::DataTypeInfo& type) noexcept {
    return kBlockBytes * 8 / type.bits / kAtOnce * kAtOnce;
}

kernels::CodeCounts codes_of(const onnx::DataTypeInfo& type, bool packed, const std::uint8_t* bytes,
                             std::uint64_t count) {
    kernels::CodeCounts counts{};
    if (!packed || type.bits == 8) {
        kernels::count_codes(bytes, count, counts);
    } else if (8 % type.bits == 0) {
        count_packed(type.bits, bytes, count, counts);
    } else {
        std::array<std::uint8_t, kAtOnce> codes;  // of a multiple of eight elements: whole bytes
        for (std::uint64_t done = 0; done < count; done += kAtOnce) {
            const std::uint64_t here = std::min(kAtOnce, count - done);
            kernels::kernels().unpack6(bytes + done * type.bits / 8, here, codes.data());
            kernels::count_codes(codes.data(), here, counts);
        }
    }
    return counts;
}

double value_of(const onnx::DataTypeInfo& type, std::uint32_t code) {
    if (type.format.numbers == Numbers::boolean) return code == 0 ? 0.0 : 1.0;
    return static_cast<double>(
        std::bit_cast<float>(onnx::float32_bits(type.format, type.bits, code)));
}

ValueStats block_stats(const onnx::DataTypeInfo& type, bool packed, const std::uint8_t* bytes,
                       std::uint64_t count) {
    if (type.bits <= 8) return of_codes(type, codes_of(type, packed, bytes, count));
    const Summarize summarize = summarizer_of(type.type).value();
    ValueStats stats;
    for (std::uint64_t done = 0; done < count; done += kAtOnce) {
        const std::uint64_t here = std::min(kAtOnce, count - done);
        stats.add(summarize(type, bytes + done * type.itemsize(), here));
    }
    return stats;
}

}  // namespace onnxmap::tensor
