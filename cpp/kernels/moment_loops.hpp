// The loops of kernels/moments.hpp, for every set. Each set calls them from functions of its own,
// and the compiler vectorises them there for that set's instructions: they are always inlined, and
// no step mixes element sizes.
//
// With AVX2, one thread sums bfloat16 about 5 times as fast as NumPy and ml_dtypes in blocks.
#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "kernels/float_rounding.hpp"
#include "kernels/kernel_set.hpp"

namespace onnxmap::kernels {

inline constexpr std::size_t kLanes = 8;

// Elements that the first-level cache holds, with their values. Fewer than 2^16, so that a code can
// count them.
inline constexpr std::size_t kChunk = 1024;

// A type of elements: its codes, and the values that the loops compute with.
template <class Code_, class Value_, Code_ kInfinity_>
struct FloatFormat {
    using Code = Code_;
    using Value = Value_;
    static constexpr Code kInfinity = kInfinity_;
};
using Float16 = FloatFormat<std::uint16_t, float, 0x7c00>;
using Bfloat16 = FloatFormat<std::uint16_t, float, 0x7f80>;
using Float32 = FloatFormat<std::uint32_t, float, 0x7f80'0000>;
using Float64 = FloatFormat<std::uint64_t, double, 0x7ff0'0000'0000'0000>;

// The code without its sign.
template <class Code>
ONNXMAP_IN_CALLER Code magnitude(Code code) {
    return code & static_cast<Code>(std::numeric_limits<std::make_signed_t<Code>>::max());
}

// Turns codes into integers whose order is the order of the numbers, and back.
template <class Code>
ONNXMAP_IN_CALLER Code ordered(Code code) {
    using Order = std::make_signed_t<Code>;
    const auto sign = static_cast<Order>(static_cast<Order>(code) >> (8 * sizeof(Code) - 1));
    return code ^ magnitude(static_cast<Code>(sign));
}

// Some elements and their values, as bytes: the caller's if no element is added or converted.
template <class Format, Kernel kConvert>
struct Chunk {
    using Code = Format::Code;
    using Value = Format::Value;
    // Otherwise a code is the bits of its value.
    static constexpr bool kConverts = sizeof(Code) != sizeof(Value);
    const std::uint8_t* codes;
    const std::uint8_t* values;
    std::size_t count;   // of elements
    std::size_t padded;  // with the NaN that fill the last lanes
    std::array<Code, kChunk> own_codes;
    std::array<Value, kChunk> own_values;

    // Moves `from` and `left` past the elements.
    ONNXMAP_IN_CALLER void load(const std::uint8_t*& from, std::uint64_t& left) {
        count = std::min<std::uint64_t>(left, kChunk);
        padded = (count + kLanes - 1) / kLanes * kLanes;
        codes = from;
        if (count < padded) {
            std::memcpy(own_codes.data(), from, count * sizeof(Code));
            std::fill(own_codes.data() + count, own_codes.data() + padded, static_cast<Code>(-1));
            codes = reinterpret_cast<const std::uint8_t*>(own_codes.data());
        }
        left -= count;
        from += count * sizeof(Code);
        values = codes;
        if constexpr (kConverts) convert();
    }

    [[nodiscard]] ONNXMAP_IN_CALLER Code code(std::size_t i) const {
        Code found;
        std::memcpy(&found, codes + i * sizeof found, sizeof found);
        return found;
    }

    // Replaces values that are not finite. Returns how many infinities there are.
    ONNXMAP_IN_CALLER std::uint64_t replace_not_finite() {
        if constexpr (!kConverts) convert();
        Code infinities = 0;
        for (std::size_t i = 0; i < padded; ++i) {
            const bool is_infinite = magnitude(code(i)) == Format::kInfinity;
            infinities = static_cast<Code>(infinities + (is_infinite ? 1 : 0));
            // Only of a finite value, the product with 0 is 0.
            own_values[i] = own_values[i] * 0 == 0 ? own_values[i] : 0;
        }
        return infinities;
    }

    // The number at this place of the order.
    [[nodiscard]] ONNXMAP_IN_CALLER double value_of(std::make_signed_t<Code> order) {
        own_codes[0] = ordered(static_cast<Code>(order));
        codes = reinterpret_cast<const std::uint8_t*>(own_codes.data());
        padded = 1;
        convert();
        return static_cast<double>(own_values[0]);
    }

  private:
    ONNXMAP_IN_CALLER void convert() {
        auto* const to = reinterpret_cast<std::uint8_t*>(own_values.data());
        if constexpr (!kConverts) {
            std::memcpy(to, codes, padded * sizeof(Value));
        } else {
            kConvert(codes, padded, to);
        }
        values = to;
    }
};

// The doubles of one vector. On aarch64, gcc would keep wider vectors in memory.
#if defined(__aarch64__)
inline constexpr std::size_t kInVector = 2;
#else
inline constexpr std::size_t kInVector = 4;
#endif
inline constexpr std::size_t kVectors = kLanes / kInVector;

template <class T>
struct VectorOf {
    using Type [[gnu::vector_size(kInVector * sizeof(T))]] = T;
};
template <class T>
using Vector = VectorOf<T>::Type;

// The sums of eight lanes.
struct LaneSums {
    std::array<Vector<double>, kVectors> sums{};
    std::array<Vector<double>, kVectors> squares{};

    [[nodiscard]] ONNXMAP_IN_CALLER Sums total() const { return {total(sums), total(squares)}; }

  private:
    [[nodiscard]] ONNXMAP_IN_CALLER static double total(
        const std::array<Vector<double>, kVectors>& vectors) {
        const auto lanes = std::bit_cast<std::array<double, kLanes>>(vectors);
        return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
               ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    }
};

template <class Value>
ONNXMAP_IN_CALLER void load(const std::uint8_t* values, Vector<double>& to) {
#if defined(__aarch64__)
    if constexpr (sizeof(Value) == 4) {  // gcc would convert them one by one
        to = vcvt_f64_f32(vreinterpret_f32_u8(vld1_u8(values)));
        return;
    }
#endif
    Vector<Value> loaded;
    std::memcpy(&loaded, values, sizeof loaded);
    to = __builtin_convertvector(loaded, Vector<double>);
}

// Adds the values; or with kAround `value * scale - shift`, and 0 for a value that is not finite.
template <bool kAround, class Value>
ONNXMAP_IN_CALLER void add(const std::uint8_t* values, std::size_t count, double scale,
                           double shift, LaneSums& to) {
    LaneSums all = to;  // in registers
    for (std::size_t i = 0; i < count; i += kLanes) {
        for (std::size_t k = 0; k < kVectors; ++k) {
            Vector<double> added;
            load<Value>(values + (i + k * kInVector) * sizeof(Value), added);
            if constexpr (kAround) {
                const auto is_finite = added * 0.0 == Vector<double>{};
                added = is_finite ? added * scale - shift : Vector<double>{};
            }
            all.sums[k] += added;
            all.squares[k] += added * added;
        }
    }
    to = all;
}

template <class Format, Kernel kConvert>
ONNXMAP_IN_CALLER Moments summarize_here(const std::uint8_t* from, std::uint64_t count) {
    using Code = Format::Code;
    using Order = std::make_signed_t<Code>;
    constexpr auto kLargest = static_cast<Order>(Format::kInfinity);
    constexpr auto kSmallest = static_cast<Order>(~kLargest);
    Chunk<Format, kConvert> chunk;
    LaneSums sums;
    Moments found;
    Order least = kLargest;
    Order most = kSmallest;
    while (count > 0) {
        chunk.load(from, count);
        Code not_finite = 0;
        Code zeros = 0;
        const std::size_t padded = chunk.padded;
        for (std::size_t i = 0; i < padded; ++i) {
            const Code code = chunk.code(i);
            const auto order = static_cast<Order>(ordered(code));
            const Code is_finite = magnitude(code) < Format::kInfinity ? 1 : 0;
            not_finite = static_cast<Code>(not_finite + 1 - is_finite);
            zeros = static_cast<Code>(zeros + (magnitude(code) == 0 ? 1 : 0));
            const Order low = is_finite != 0 ? order : kLargest;
            const Order high = is_finite != 0 ? order : kSmallest;
            least = std::min(low, least);
            most = std::max(high, most);
        }
        if (not_finite > 0) found.infinities += chunk.replace_not_finite();
        add<false, typename Format::Value>(chunk.values, padded, 1, 0, sums);
        found.not_finite += not_finite - (padded - chunk.count);
        found.zeros += zeros;
    }
    // Adding 0 makes 0 of -0: which of the two is found would depend on their order.
    found.least = chunk.value_of(least) + 0.0;
    found.most = chunk.value_of(most) + 0.0;
    const auto [sum, sum_of_squares] = sums.total();
    found.sum = sum;
    found.sum_of_squares = sum_of_squares;
    return found;
}

template <class Format, Kernel kConvert>
ONNXMAP_IN_CALLER Sums sum_around_here(const std::uint8_t* from, std::uint64_t count, double scale,
                                       double shift) {
    Chunk<Format, kConvert> chunk;
    LaneSums sums;
    while (count > 0) {
        chunk.load(from, count);
        add<true, typename Format::Value>(chunk.values, chunk.padded, scale, shift, sums);
    }
    return sums.total();
}

}  // namespace onnxmap::kernels
