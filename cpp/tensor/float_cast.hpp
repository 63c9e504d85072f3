// Converts floating-point elements as the operator Cast does, and counts the values that are lost.
#pragma once

#include <cstdint>

#include "kernels/kernel_set.hpp"
#include "onnx/data_type.hpp"

namespace onnxmap::tensor {

/// Rounds to nearest, ties to even; to types of 8 bits, it saturates. Source: onnx, Cast-19.
class Cast {
  public:
    /// Whether elements of a type can be converted, from it and to it: floating-point numbers of
    /// 64, 32 and 16 bits, and of 8 bits with a mantissa.
    [[nodiscard]] static bool takes(const onnx::DataTypeInfo& type) noexcept;

    Cast(const onnx::DataTypeInfo& from, const onnx::DataTypeInfo& to);

    [[nodiscard]] const onnx::DataTypeInfo& from() const noexcept { return *from_; }
    [[nodiscard]] const onnx::DataTypeInfo& to() const noexcept { return *to_; }

    /// Converts `count` elements; neither end need be aligned. Returns how many values are lost:
    /// numbers too large for the type, and infinity if the type has none or saturates.
    std::uint64_t convert(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) const;

  private:
    // Some elements as float32. Returns how many are lost.
    std::uint64_t widen(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) const;

    const onnx::DataTypeInfo* from_;
    const onnx::DataTypeInfo* to_;
    kernels::Kernel kernel_ = nullptr;  // from float32; null for the types that have all of it
    // The float32 numbers that are lost, as bits without the sign; none if least_ > most_.
    std::uint32_t least_ = 1;
    std::uint32_t most_ = 0;
};

}  // namespace onnxmap::tensor
