// Converts floating-point elements as the operator Cast does, and counts the values that are lost.
#pragma once

#include <cstdint>

#include "kernels/kernel_set.hpp"
#include "onnx/data_type.hpp"

namespace onnxmap::tensor {

/// Values that a conversion does not keep.
struct LostValues {
    std::uint64_t too_large = 0;  // and infinity, if the type has none or saturates
    std::uint64_t vanished = 0;   // that became zero

    LostValues& operator+=(const LostValues& other) noexcept {
        too_large += other.too_large;
        vanished += other.vanished;
        return *this;
    }
    bool operator==(const LostValues&) const = default;
};

/// Doubles as float32 numbers that smaller types round as they would round the doubles. NaN, and
/// infinity, stay.
void round_to_odd(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) noexcept;

/// Rounds to nearest, ties to even; to types of 8 bits, it saturates. Source: onnx, Cast-19.
class Cast {
  public:
    /// Whether elements of a type can be converted, from it and to it: floating-point numbers of
    /// 64, 32 and 16 bits, and of 8 bits with a mantissa.
    [[nodiscard]] static bool takes(const onnx::DataTypeInfo& type) noexcept;

    Cast(const onnx::DataTypeInfo& from, const onnx::DataTypeInfo& to);

    [[nodiscard]] const onnx::DataTypeInfo& from() const noexcept { return *from_; }
    [[nodiscard]] const onnx::DataTypeInfo& to() const noexcept { return *to_; }

    /// Converts `count` elements; neither end need be aligned.
    LostValues convert(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) const;

  private:
    // Some elements as float32.
    LostValues widen(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) const;

    const onnx::DataTypeInfo* from_;
    const onnx::DataTypeInfo* to_;
    kernels::Kernel kernel_ = nullptr;  // from float32; null for the types that have all of it
    // The float32 numbers that are too large, as bits without the sign; none if least_ > most_.
    std::uint32_t least_ = 1;
    std::uint32_t most_ = 0;
    std::uint32_t vanishing_ = 0;  // the largest one that becomes zero
};

}  // namespace onnxmap::tensor
