#include "model/attribute.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

constexpr std::int32_t kLastType = 14;

// Source: onnx.proto, AttributeProto.AttributeType.
const wire::FieldRow* field_of_type(std::int32_t type) {
    switch (type) {
        case 1: return &field<"AttributeProto.f">;
        case 2: return &field<"AttributeProto.i">;
        case 3: return &field<"AttributeProto.s">;
        case 4: return &field<"AttributeProto.t">;
        case 5: return &field<"AttributeProto.g">;
        case 6: return &field<"AttributeProto.floats">;
        case 7: return &field<"AttributeProto.ints">;
        case 8: return &field<"AttributeProto.strings">;
        case 9: return &field<"AttributeProto.tensors">;
        case 10: return &field<"AttributeProto.graphs">;
        case 11: return &field<"AttributeProto.sparse_tensor">;
        case 12: return &field<"AttributeProto.sparse_tensors">;
        case 13: return &field<"AttributeProto.tp">;
        case kLastType: return &field<"AttributeProto.type_protos">;
        default: return nullptr;
    }
}

}  // namespace

std::int32_t Attribute::type() const {
    if (const auto type = message_.find(field<"AttributeProto.type">)) return type->int32();
    for (std::int32_t type = 1; type <= kLastType; ++type) {
        bool is_there = false;
        message_.for_each_value(*field_of_type(type), [&](const wire::Field&) { is_there = true; });
        if (is_there) return type;
    }
    return 0;
}

const wire::FieldRow* Attribute::value_field() const {
    if (!message_.text(field<"AttributeProto.ref_attr_name">).empty()) return nullptr;
    return field_of_type(type());
}

ByName<Attribute> attributes(const onnx::Message& message, const wire::FieldRow& row) {
    LastByName<Attribute> found;
    message.for_each_value(row, [&](const wire::Field& value) {
        Attribute attribute(message.inner(row, value));
        const std::string_view name = attribute.name();
        found.set(name, std::move(attribute));
    });
    return std::move(found).found();
}

ByName<Attribute> default_attributes(const onnx::Message& function) {
    return attributes(function, field<"FunctionProto.attribute_proto">);
}

}  // namespace onnxmap::model
