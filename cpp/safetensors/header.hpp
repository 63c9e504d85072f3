// The header of a safetensors file: a length of 8 bytes, and JSON that says where each tensor
// stands in the data behind it.
// Source: the README of safetensors, "Format", and the checks of its reader (version 0.8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "onnx/data_type.hpp"

namespace onnxmap::safetensors {

inline constexpr std::uint64_t kLengthBytes = 8;
inline constexpr std::uint64_t kMostJson = 100'000'000;  // bytes

struct Entry {
    std::string name;
    const onnx::DataTypeInfo* type = nullptr;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;  // bytes of the data
    std::uint64_t end = 0;
};

/// The place of a tensor among tensors of other types: the official library writes large types
/// first, and within one type the names in their order.
[[nodiscard]] std::size_t order_of(const Entry& tensor) noexcept;

/// The object of `__metadata__` in JSON, whose values are strings; empty if there is none. A file
/// may have ten million entries, each of which would take ten times its bytes as two strings.
using Metadata = std::string;

struct Header {
    std::vector<Entry> tensors;  // in the order of the data, without gaps
    Metadata metadata;
};

/// Whether a file of `nbytes` begins like safetensors: its length fits, and JSON follows.
/// `head`: at least its first 9 bytes, or all of it.
[[nodiscard]] bool begins_file(ByteView head, std::uint64_t nbytes) noexcept;

/// The bytes of the JSON text behind the length. Throws Error `model.safetensors`.
[[nodiscard]] std::uint64_t json_nbytes(ByteView head, std::uint64_t file_nbytes);

/// The header with this JSON text, of a file that has `data_nbytes` behind it. Throws Error
/// `model.safetensors`; `tensor.data_size` or `tensor.size_overflow` if the range of a tensor does
/// not fit its type and shape.
[[nodiscard]] Header parse_header(std::string_view json, std::uint64_t data_nbytes);

/// The length and the JSON text, filled with blanks to a multiple of `alignment`, a power of two of
/// at least 8. The tensors must follow each other from 0 on, with names in UTF-8. The text is what
/// the official library writes. Throws Error `save.not_carried` if it would be too long.
[[nodiscard]] std::string header_bytes(std::span<const Entry> tensors, const Metadata& metadata,
                                       std::uint64_t alignment = kLengthBytes);

/// A name for tensors that the format reserves.
inline constexpr std::string_view kMetadataName = "__metadata__";

}  // namespace onnxmap::safetensors
