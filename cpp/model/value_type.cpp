#include "model/value_type.hpp"

#include <utility>

#include "onnx/schema.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

using Kind = ValueType::Kind;

std::vector<Dimension> dimensions(const onnx::Message& shape) {
    const wire::FieldRow& row = field<"TensorShapeProto.dim">;
    std::vector<Dimension> dims;
    shape.for_each_child(
        row, [&](const onnx::Message& value) { dims.push_back(read_dimension(value)); });
    return dims;
}

// TypeProto.Tensor and TypeProto.SparseTensor have the same two fields, under rows of their own.
ValueType tensor_type(Kind kind, const onnx::Message& tensor) {
    ValueType type{kind};
    if (const auto number = tensor.find(*tensor.table().find("elem_type"))) {
        type.elem_type = number->int32();
    }
    if (const auto shape = tensor.child(*tensor.table().find("shape"))) {
        type.shape = dimensions(*shape);
    }
    return type;
}

ValueType outer_type(Kind kind, const onnx::Message& outer, const wire::FieldRow& inner,
                     std::uint32_t max_depth) {
    ValueType type{kind};
    const auto message = outer.child(inner);
    auto made = message ? value_type(*message, max_depth) : std::nullopt;
    if (made) type.inner = std::make_unique<ValueType>(std::move(*made));
    return type;
}

// The type in a member of the oneof of a TypeProto.
ValueType type_in(const onnx::Message& value, const wire::FieldRow* which, std::uint32_t depth) {
    if (which == &field<"TypeProto.tensor_type">) return tensor_type(Kind::tensor, value);
    if (which == &field<"TypeProto.sparse_tensor_type">) {
        return tensor_type(Kind::sparse_tensor, value);
    }
    if (which == &field<"TypeProto.sequence_type">) {
        return outer_type(Kind::sequence, value, field<"TypeProto.Sequence.elem_type">, depth);
    }
    if (which == &field<"TypeProto.optional_type">) {
        return outer_type(Kind::optional, value, field<"TypeProto.Optional.elem_type">, depth);
    }
    if (which == &field<"TypeProto.map_type">) {
        auto map = outer_type(Kind::map, value, field<"TypeProto.Map.value_type">, depth);
        if (const auto key = value.find(field<"TypeProto.Map.key_type">)) {
            map.elem_type = key->int32();
        }
        return map;
    }
    ValueType opaque{Kind::opaque};
    opaque.domain = value.text(field<"TypeProto.Opaque.domain">);
    opaque.name = value.text(field<"TypeProto.Opaque.name">);
    return opaque;
}

}  // namespace

std::optional<ValueType> value_type(const onnx::Message& type, std::uint32_t max_depth) {
    const wire::FieldRow* which = type.which("value");
    if (which == nullptr) return std::nullopt;
    if (max_depth == 0) onnx::fail_too_deep(type);
    const auto found = type.child(*which);
    if (!found) fail_changed();
    ValueType made = type_in(*found, which, max_depth - 1);
    if (const auto text = type.find(field<"TypeProto.denotation">)) made.denotation = text->text();
    return made;
}

std::optional<ValueType> type_of_value(const Document& document, const onnx::Message& value_info) {
    const auto type = document.child(value_info, field<"ValueInfoProto.type">);
    return type ? value_type(*type, document.limits().depth) : std::nullopt;
}

}  // namespace onnxmap::model
