// Converts stored elements to array elements of the same type or of another type.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/kernel_set.hpp"
#include "onnx/data_type.hpp"

namespace onnxmap::tensor {

/// A type with the same values that NumPy can cast to every type. NumPy may lack casts between the
/// small types of ml_dtypes, and float32 has all values of types of at most 8 bits. Other types
/// stay as they are: by way of float32, the payload of a NaN could change.
[[nodiscard]] const onnx::DataTypeInfo& castable_type(const onnx::DataTypeInfo& type);

class Conversion {
  public:
    /// The conversion without a change of type: elements are copied, or unpacked to one byte each.
    [[nodiscard]] static Conversion none(const onnx::DataTypeInfo& type);

    /// Nothing if there is no kernel for the two types: NumPy converts them.
    [[nodiscard]] static std::optional<Conversion> find(const onnx::DataTypeInfo& from,
                                                        const onnx::DataTypeInfo& to);

    [[nodiscard]] const onnx::DataTypeInfo& to() const noexcept { return *to_; }
    /// Whether the conversion only copies.
    [[nodiscard]] bool is_copy() const noexcept { return !unpack_ && !kernel_ && !table_; }

    /// Converts `count` elements that are stored packed. Neither end need be aligned.
    void stored(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) const;

    /// Converts `count` elements of an array of the first type.
    void elements(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to) const;

  private:
    explicit Conversion(const onnx::DataTypeInfo& type);

    const onnx::DataTypeInfo* from_;
    const onnx::DataTypeInfo* to_;
    kernels::Kernel unpack_ = nullptr;  // of sub-byte types
    kernels::Kernel kernel_ = nullptr;
    kernels::Table table_ = nullptr;
};

}  // namespace onnxmap::tensor
