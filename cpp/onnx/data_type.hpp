// Element types: the table of data_type.def, and what follows from it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "wire/message_table.hpp"

namespace onnxmap::onnx {

enum class DataType : std::int32_t {
    UNDEFINED = 0,
#define DATA_TYPE(name, number, bits, storage, numpy) name = number,
#include "onnx/data_type.def"
#undef DATA_TYPE
};

struct DataTypeInfo {
    DataType type;
    std::string_view name;
    std::uint32_t bits;             // of one element; 0 for STRING
    const wire::FieldRow* storage;  // the typed field, for tensors without raw_data
    std::string_view numpy;         // name of the dtype in NumPy, or else in ml_dtypes

    /// Whole bytes per element: such a payload can be looked at in place.
    [[nodiscard]] constexpr bool fixed_width() const noexcept { return bits >= 8; }
    [[nodiscard]] constexpr std::uint32_t itemsize() const noexcept { return bits / 8; }
};

/// Every element type, by number.
[[nodiscard]] std::span<const DataTypeInfo> data_types() noexcept;

/// Facts of the type with this number; null for 0 and for numbers that nobody has assigned.
[[nodiscard]] const DataTypeInfo* find_data_type(std::int32_t number) noexcept;

}  // namespace onnxmap::onnx
