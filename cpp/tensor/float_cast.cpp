#include "tensor/float_cast.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

#include "tensor/conversion.hpp"

namespace onnxmap::tensor {

using onnx::DataType;
using onnx::DataTypeInfo;

namespace {

constexpr std::uint64_t kCastAtOnce =
    2048;  // elements; their float32 stay in the first-level cache
constexpr std::uint32_t kInfinityBits = 0x7f80'0000;

kernels::Kernel kernel_to(DataType type) {
    const kernels::KernelSet& set = kernels::kernels();
    switch (type) {
        case DataType::FLOAT16: return set.float32_to_float16;
        case DataType::BFLOAT16: return set.float32_to_bfloat16;
        case DataType::FLOAT8E4M3FN: return set.float32_to_e4m3fn;
        case DataType::FLOAT8E4M3FNUZ: return set.float32_to_e4m3fnuz;
        case DataType::FLOAT8E5M2: return set.float32_to_e5m2;
        case DataType::FLOAT8E5M2FNUZ: return set.float32_to_e5m2fnuz;
        default: return nullptr;
    }
}

// The code of the largest finite value.
constexpr std::uint32_t largest_code(const onnx::CodeFormat& format) noexcept {
    const std::uint32_t all = (1U << (format.exponent_bits + format.mantissa_bits)) - 1;
    if (format.numbers == onnx::Numbers::fnuz) return all;
    if (format.numbers == onnx::Numbers::fn) return all - 1;
    return all - (1U << format.mantissa_bits);
}

// The least float32 that is rounded beyond the largest value of a type: half a place above it,
// which goes to an even mantissa.
constexpr std::uint32_t least_overflow(const DataTypeInfo& type) noexcept {
    const std::uint32_t code = largest_code(type.format);
    const std::uint32_t half = 1U << (22 - type.format.mantissa_bits);
    return onnx::float32_bits(type.format, type.bits, code) + half + (code % 2 == 0 ? 1 : 0);
}

// Half the least number above zero, which goes to zero: its mantissa is even.
constexpr std::uint32_t largest_vanishing(const DataTypeInfo& type) noexcept {
    constexpr std::uint32_t kLeastNormal = 1U << 23;
    const std::uint32_t least = onnx::float32_bits(type.format, type.bits, 1);
    return least < kLeastNormal ? least / 2 : least - kLeastNormal;
}

// A float32 between a double and zero, with its last bit set if it is another number: rounding that
// to a smaller type gives what rounding the double gives.
float rounded_to_odd(double number) noexcept {
    const auto nearest = static_cast<float>(number);
    if (static_cast<double>(nearest) == number || std::isnan(number)) return nearest;
    auto bits = std::bit_cast<std::uint32_t>(nearest);
    // Infinity has a neighbour, too: the largest number.
    if (std::fabs(static_cast<double>(nearest)) > std::fabs(number)) --bits;
    return std::bit_cast<float>(bits | 1);
}

LostValues narrow(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) noexcept {
    LostValues lost;
    for (std::uint64_t i = 0; i < count; ++i) {
        double number;
        std::memcpy(&number, from + 8 * i, sizeof number);
        const auto made = static_cast<float>(number);
        lost.too_large += std::isinf(made) && !std::isinf(number) ? 1 : 0;
        lost.vanished += made == 0 && number != 0 ? 1 : 0;
        std::memcpy(to + 4 * i, &made, sizeof made);
    }
    return lost;
}

}  // namespace

void round_to_odd(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) noexcept {
    for (std::uint64_t i = 0; i < count; ++i) {
        double number;
        std::memcpy(&number, from + 8 * i, sizeof number);
        const float made = rounded_to_odd(number);
        std::memcpy(to + 4 * i, &made, sizeof made);
    }
}

bool Cast::takes(const DataTypeInfo& type) noexcept {
    return type.type == DataType::FLOAT || type.type == DataType::DOUBLE ||
           kernel_to(type.type) != nullptr;
}

Cast::Cast(const DataTypeInfo& from, const DataTypeInfo& to)
    : from_(&from), to_(&to), kernel_(kernel_to(to.type)) {
    assert(takes(from) && takes(to));
    if (kernel_ == nullptr) return;
    least_ = least_overflow(to);
    most_ = to.bits == 8 ? kInfinityBits : kInfinityBits - 1;
    vanishing_ = largest_vanishing(to);
}

LostValues Cast::widen(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) const {
    if (from_->type != DataType::DOUBLE) {
        Conversion::find(*from_, onnx::data_type(DataType::FLOAT))->elements(from, count, to);
        return {};
    }
    if (kernel_ == nullptr) return narrow(from, count, to);
    round_to_odd(from, count, to);
    return {};
}

LostValues Cast::convert(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) const {
    std::array<std::uint8_t, 4 * kCastAtOnce> floats;
    LostValues lost;
    while (count > 0) {
        const std::uint64_t here = std::min(count, kCastAtOnce);
        const std::uint8_t* numbers = from;
        if (from_->type != DataType::FLOAT) {
            std::uint8_t* const made = to_->type == DataType::FLOAT ? to : floats.data();
            lost += widen(from, here, made);
            numbers = made;
        }
        if (kernel_ != nullptr) {
            const kernels::CountBetween count_between = kernels::kernels().count_between;
            lost.too_large += count_between(numbers, here, least_, most_);
            lost.vanished += count_between(numbers, here, 1, vanishing_);
            kernel_(numbers, here, to);
        } else if (to_->type == DataType::DOUBLE) {
            for (std::uint64_t i = 0; i < here; ++i) {
                float number;
                std::memcpy(&number, numbers + 4 * i, sizeof number);
                const auto wide = static_cast<double>(number);
                std::memcpy(to + 8 * i, &wide, sizeof wide);
            }
        }
        from += here * from_->itemsize();
        to += here * to_->itemsize();
        count -= here;
    }
    return lost;
}

}  // namespace onnxmap::tensor
