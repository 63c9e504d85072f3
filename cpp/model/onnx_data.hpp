// The values of onnx-data.proto: which field of a SequenceProto, an OptionalProto or a MapProto
// holds what.
#pragma once

#include <optional>

#include "model/document.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

/// The field with the values of a SequenceProto, by its element type. If ONNX does not define that
/// type, the first field that has values. Null if there are none.
[[nodiscard]] const wire::FieldRow* sequence_field(const onnx::Message& sequence);

/// The value of an OptionalProto, from the field that its element type names. Nothing if that field
/// is absent.
[[nodiscard]] std::optional<onnx::Message> optional_value(const Document& document,
                                                          const onnx::Message& optional);

/// The field with the keys of a MapProto, by its key type. Throws Error `model.map_size` if it has
/// not one value for each key.
[[nodiscard]] const wire::FieldRow& keys_field(const Document& document, const onnx::Message& map);

}  // namespace onnxmap::model
