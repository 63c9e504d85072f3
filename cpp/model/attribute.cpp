#include "model/attribute.hpp"

#include <vector>

#include "model/edit_message.hpp"

namespace onnxmap::model {

using onnx::field;

namespace {

struct TypeRow {
    AttributeType single;
    AttributeType list;
    const wire::FieldRow* single_field;
    const wire::FieldRow* list_field;
};

// Source: onnx.proto, AttributeProto.AttributeType.
constexpr TypeRow kTypes[] = {
    {AttributeType::FLOAT, AttributeType::FLOATS, &field<"AttributeProto.f">,
     &field<"AttributeProto.floats">},
    {AttributeType::INT, AttributeType::INTS, &field<"AttributeProto.i">,
     &field<"AttributeProto.ints">},
    {AttributeType::STRING, AttributeType::STRINGS, &field<"AttributeProto.s">,
     &field<"AttributeProto.strings">},
    {AttributeType::TENSOR, AttributeType::TENSORS, &field<"AttributeProto.t">,
     &field<"AttributeProto.tensors">},
    {AttributeType::GRAPH, AttributeType::GRAPHS, &field<"AttributeProto.g">,
     &field<"AttributeProto.graphs">},
    {AttributeType::SPARSE_TENSOR, AttributeType::SPARSE_TENSORS,
     &field<"AttributeProto.sparse_tensor">, &field<"AttributeProto.sparse_tensors">},
    {AttributeType::TYPE_PROTO, AttributeType::TYPE_PROTOS, &field<"AttributeProto.tp">,
     &field<"AttributeProto.type_protos">},
};
constexpr std::int32_t kLastType = static_cast<std::int32_t>(AttributeType::TYPE_PROTOS);

}  // namespace

const wire::FieldRow* field_of(AttributeType type) noexcept {
    for (const TypeRow& row : kTypes) {
        if (row.single == type) return row.single_field;
        if (row.list == type) return row.list_field;
    }
    return nullptr;
}

void clear_value(const Document& document, const onnx::Message& attribute) {
    std::vector<const wire::FieldRow*> rows{&field<"AttributeProto.ref_attr_name">};
    for (const TypeRow& row : kTypes) {
        rows.push_back(row.single_field);
        rows.push_back(row.list_field);
    }
    clear(document, attribute, rows);
}

void clear_documentation(const Document& document, const onnx::Message& attribute) {
    clear(document, attribute, field<"AttributeProto.doc_string">);
}

std::int32_t Attribute::type() const {
    if (const auto type = message_.find(field<"AttributeProto.type">)) return type->int32();
    for (std::int32_t type = 1; type <= kLastType; ++type) {
        bool is_there = false;
        const wire::FieldRow& row = *field_of(static_cast<AttributeType>(type));
        message_.for_each_value(row, [&](const wire::Field&) { is_there = true; });
        if (is_there) return type;
    }
    return 0;
}

const wire::FieldRow* Attribute::value_field() const {
    if (!message_.text(field<"AttributeProto.ref_attr_name">).empty()) return nullptr;
    return field_of(static_cast<AttributeType>(type()));
}

ByName<Attribute> attributes(const onnx::Message& message, const wire::FieldRow& row) {
    LastByName<Attribute> found;
    message.for_each_child(row, [&](const onnx::Message& value) {
        Attribute attribute(value);
        const std::string_view name = attribute.name();
        found.set(name, std::move(attribute));
    });
    return std::move(found).found();
}

}  // namespace onnxmap::model
