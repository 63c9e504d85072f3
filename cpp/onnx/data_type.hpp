// Element types: the table of data_type.def, and the facts that follow from it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "onnx/code_format.hpp"
#include "wire/message_table.hpp"

namespace onnxmap::onnx {

enum class DataType : std::int32_t {
    UNDEFINED = 0,
#define DATA_TYPE(name, number, ...) name = number,
#include "onnx/data_type.def"
#undef DATA_TYPE
};

/// Source: DLPack 1.1, DLDataTypeCode.
enum class DlpackCode : std::uint8_t {
    integer = 0,
    unsigned_integer = 1,
    floating = 2,
    opaque = 3,
    bfloat = 4,
    complex = 5,
    boolean = 6,
    float8_e4m3fn = 10,
    float8_e4m3fnuz = 11,
    float8_e5m2 = 12,
    float8_e5m2fnuz = 13,
    float8_e8m0fnu = 14,
    float6_e2m3fn = 15,
    float6_e3m2fn = 16,
    float4_e2m1fn = 17,
};

/// How elements are stored in bytes; see data_type.def.
enum class Packing : std::uint8_t { whole, packed, strict };

struct DataTypeInfo {
    DataType type;
    std::string_view name;
    std::uint32_t bits;             // of one element; 0 for STRING
    const wire::FieldRow* storage;  // the typed field, for tensors without raw_data
    Packing packing;
    std::string_view numpy;        // name of the dtype in NumPy, or else in ml_dtypes
    std::string_view safetensors;  // name of the dtype in safetensors; empty if it has none
    const char* buffer_format;     // in the buffer protocol; empty if it has none
    DlpackCode dlpack;
    CodeFormat format;
    std::int32_t ir_version;  // the first one that has the type

    /// Whether each element has whole bytes: arrays can then be views of the payload.
    [[nodiscard]] constexpr bool fixed_width() const noexcept { return bits >= 8; }
    /// Whether elements share bytes when stored; arrays have one byte per element.
    [[nodiscard]] constexpr bool sub_byte() const noexcept { return bits > 0 && bits < 8; }
    /// Elements that one entry of the typed field holds.
    [[nodiscard]] constexpr std::uint32_t per_entry() const noexcept {
        return packing == Packing::packed ? 8 / bits : 1;
    }
    /// Whether the unused bits of the last byte must be zero.
    [[nodiscard]] constexpr bool zero_padding() const noexcept {
        return packing == Packing::strict;
    }
    /// Bytes of one element in an array; 0 for STRING.
    [[nodiscard]] constexpr std::uint32_t itemsize() const noexcept { return (bits + 7) / 8; }
    /// The number of values in a complex element; 1 for other types.
    [[nodiscard]] constexpr std::uint32_t parts() const noexcept {
        return format.numbers == Numbers::complex ? 2 : 1;
    }
};

/// Every element type, by number.
[[nodiscard]] std::span<const DataTypeInfo> data_types() noexcept;

/// Facts of the type with this number; null for 0 and for numbers that are not assigned.
[[nodiscard]] const DataTypeInfo* find_data_type(std::int32_t number) noexcept;

/// Facts of a type that is known to exist.
[[nodiscard]] const DataTypeInfo& data_type(DataType type) noexcept;

}  // namespace onnxmap::onnx
