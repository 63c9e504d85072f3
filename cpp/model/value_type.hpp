// The type of a value, as a TypeProto describes it.
// Source: onnx.proto, TypeProto and TensorShapeProto.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "model/dimension.hpp"
#include "model/document.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

struct ValueType {
    enum class Kind : std::uint8_t { tensor, sparse_tensor, sequence, map, optional, opaque };

    Kind kind;
    // The number of the DataType of a tensor's elements or a map's keys, if it is there.
    std::optional<std::int32_t> elem_type = std::nullopt;
    // The shape of a tensor; nothing if its rank is unknown.
    std::optional<std::vector<Dimension>> shape = std::nullopt;
    // The type of the elements of a sequence, of the values of a map, or of an optional value; null
    // if the file does not specify it.
    std::unique_ptr<ValueType> inner = nullptr;
    std::string_view domain = {};  // of an opaque type
    std::string_view name = {};
    std::optional<std::string_view> denotation = std::nullopt;  // such as "IMAGE"

    [[nodiscard]] bool is_tensor() const noexcept {
        return kind == Kind::tensor || kind == Kind::sparse_tensor;
    }
};

/// The type that a TypeProto describes, or nothing. `max_depth`: the deepest nesting of messages,
/// as for the load pass. Throws Error `file.changed` if messages are nested deeper.
[[nodiscard]] std::optional<ValueType> value_type(const onnx::Message& type,
                                                  std::uint32_t max_depth);

/// The type of a ValueInfoProto of the document, or nothing.
[[nodiscard]] std::optional<ValueType> type_of_value(const Document& document,
                                                     const onnx::Message& value_info);

}  // namespace onnxmap::model
