// The values of TensorProtos: how they are replaced, and set to bytes that are not copied.
#pragma once

#include <cstdint>
#include <optional>

#include "model/document.hpp"
#include "model/edit_message.hpp"

namespace onnxmap::model {

/// Sets the `raw_data` of a TensorProto.
void set_raw_data(const Document& document, const onnx::Message& tensor, const NewValue& value);

/// Sets the `raw_data` of a TensorProto to bytes of the loaded file, which stay where they are.
/// Throws Error `edit.range` if the file has no such bytes.
void set_loaded_raw_data(const Document& document, const onnx::Message& tensor,
                         std::uint64_t offset, std::uint64_t nbytes);

/// The `raw_data` of a TensorProto, if they are bytes of the loaded file, and not empty.
[[nodiscard]] std::optional<ByteView> loaded_raw_data(const Document& document,
                                                      const onnx::Message& tensor);

/// Removes all fields that say what the values are. Name, documentation and metadata stay.
void clear_values(const Document& document, const onnx::Message& tensor);

}  // namespace onnxmap::model
