#include "model/attribute.hpp"

#include "model/edit_message.hpp"
#include "model/name_table.hpp"

namespace onnxmap::model {

using onnx::field;

void clear_value(const Document& document, const onnx::Message& attribute) {
    std::vector<const wire::FieldRow*> rows{&field<"AttributeProto.ref_attr_name">};
    for (const wire::FieldRow* const row : kValueFields) {
        if (row != nullptr) rows.push_back(row);
    }
    clear(document, attribute, rows);
}

std::int32_t Attribute::type() const {
    if (const auto type = message_.find(field<"AttributeProto.type">)) return type->int32();
    for (std::int32_t type = 1; field_of(type) != nullptr; ++type) {
        if (message_.count(*field_of(type)) > 0) return type;
    }
    return 0;
}

const wire::FieldRow* Attribute::value_field() const {
    if (!message_.text(field<"AttributeProto.ref_attr_name">).empty()) return nullptr;
    return field_of(type());
}

std::vector<Attribute> attributes(const onnx::Message& message, const wire::FieldRow& row) {
    NameTable names;
    std::vector<Attribute> found;
    message.for_each_child(row, [&](const onnx::Message& value) {
        Attribute attribute(value);
        const auto [position, is_new] = names.add(attribute.name());
        if (is_new) {
            found.push_back(std::move(attribute));
        } else {
            found[position] = std::move(attribute);
        }
    });
    return found;
}

}  // namespace onnxmap::model
