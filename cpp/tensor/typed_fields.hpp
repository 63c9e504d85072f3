// Values that are stored one by one in a typed field (float_data, int32_data ...).
// Source: onnx.proto, the comments of TensorProto's *_data fields.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "onnx/message.hpp"
#include "tensor/header.hpp"

namespace onnxmap::tensor {

/// Counts the stored values, before anything is allocated for `count` elements.
/// Throws Error `tensor.data_size` or `tensor.wrong_field`.
void check_typed_count(const onnx::Message& message, const Header& header, std::uint64_t count);

/// Decodes the elements of a type of whole bytes into `out`, which has exactly their size.
/// `message` is the TensorProto, its typed runs resident. Throws Error `tensor.data_size`,
/// `tensor.wrong_field` or `tensor.value_range`.
void decode_typed(const onnx::Message& message, const Header& header, std::uint64_t count,
                  std::span<std::uint8_t> out);

/// The elements of a STRING tensor. Throws Error `tensor.data_size` or `tensor.wrong_field`.
[[nodiscard]] std::vector<std::string_view> decode_strings(const onnx::Message& message,
                                                           const Header& header,
                                                           std::uint64_t count);

}  // namespace onnxmap::tensor
