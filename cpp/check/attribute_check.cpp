#include "check/attribute_check.hpp"

#include <algorithm>
#include <string>

#include "base/utf8.hpp"
#include "check/graph_check.hpp"
#include "check/string_check.hpp"
#include "check/tensor_check.hpp"
#include "check/type_check.hpp"
#include "model/attribute.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

void check_reference(Findings& findings, const AttributeParts& parts, const FieldPath& path,
                     const Owner* owner) {
    const model::NameTable* const attributes = owner == nullptr ? nullptr : owner->attributes;
    if (attributes == nullptr) {
        findings.add(Rule::attribute_reference, path,
                     {"it refers to the attribute ", Quoted(parts.reference),
                      " of a function, and its node is in none"});
    } else if (!attributes->find(parts.reference)) {
        findings.add(Rule::attribute_reference_name, path,
                     {"the function has no attribute ", Quoted(parts.reference)});
    }
    if (parts.value != nullptr) {
        findings.add(
            Rule::attribute_reference_value, path,
            {"it refers to ", Quoted(parts.reference), ", and has a value in ", parts.value->name});
    }
}

void check_value_fields(Findings& findings, const AttributeParts& parts, const FieldPath& path) {
    if (parts.other != nullptr) {
        findings.add(
            Rule::attribute_value, path,
            {"it has values in two fields: ", parts.value->name, " and ", parts.other->name});
        return;
    }
    const wire::FieldRow* const expected = model::field_of(parts.type.value_or(0));
    if (expected == nullptr) return;
    if (parts.value == nullptr) {
        if (expected->repeated()) return;  // an empty list
        findings.add(Rule::attribute_no_value, path,
                     {"its type needs a value in ", expected->name});
    } else if (parts.value != expected) {
        findings.add(Rule::attribute_value, path,
                     {"its type needs a value in ", expected->name, ", and the value is in ",
                      parts.value->name});
    }
}

void check_message(Checking& checking, const onnx::Message& message, const FieldPath& path,
                   NodeListCheck& body) {
    if (&message.table() == &onnx::message<"TensorProto">) {
        check_tensor(checking, message, path);
    } else if (&message.table() == &onnx::message<"SparseTensorProto">) {
        check_sparse_tensor(checking, message, path);
    } else if (&message.table() == &onnx::message<"TypeProto">) {
        check_type(checking, message, path);
    } else {
        check_subgraph(checking, message, path, body);
    }
}

}  // namespace

std::string attribute_type_text(std::int32_t type) {
    const wire::EnumValue* const value =
        onnx::kSchema.enum_of(field<"AttributeProto.type">).find(type);
    return value == nullptr ? std::to_string(type) : std::string(value->name);
}

void AttributeParts::note_string(const wire::FieldRow& row, std::string_view string) noexcept {
    if (bad_string == nullptr && !is_utf8(string)) {
        bad_string = &row;
        bad_index = strings;
    }
    ++strings;
}

AttributeParts parts_of(const onnx::Message& attribute) {
    AttributeParts parts;
    attribute.for_each_field([&](const wire::Field& found, const wire::FieldRow* row) {
        if (row != nullptr && row->type == wire::Type::string) {
            parts.has_bad_text = parts.has_bad_text || !is_utf8(found.text());
        }
        if (row == nullptr) {
            parts.has_bad_text = parts.has_bad_text || removed_field(attribute, found).has_value();
        } else if (row == &field<"AttributeProto.doc_string">) {
            parts.has_doc_string = true;
        } else if (row == &field<"AttributeProto.name">) {
            parts.name = found.text();
        } else if (row == &field<"AttributeProto.ref_attr_name">) {
            parts.reference = found.text();
        } else if (row == &field<"AttributeProto.type">) {
            parts.type = found.int32();
        } else if (std::ranges::find(model::kValueFields, row) != model::kValueFields.end()) {
            if (parts.value == nullptr) parts.value = row;
            if (parts.value != row) parts.other = row;
            parts.has_messages = parts.has_messages || row->is_message();
            if (row->type == wire::Type::bytes) parts.note_string(*row, found.text());
            if (row == &field<"AttributeProto.s">) parts.text = found.text();
        }
    });
    return parts;
}

void check_attribute(std::int64_t ir_version, Findings& findings, const AttributeParts& parts,
                     const FieldPath& path, const Owner* owner) {
    if (parts.name.empty()) {
        findings.add(Rule::attribute_name, path, "the attribute has no name");
    }
    check_identifier(findings, parts.name, path);
    if (!parts.has_doc_string) {
        findings.add(Rule::attribute_doc_string, path, "the attribute has no doc_string");
    }
    if (parts.bad_string != nullptr) {
        findings.add(Rule::attribute_string_value,
                     FieldPath{&path, parts.bad_string, parts.bad_index},
                     "the string is not UTF-8");
    }
    if (parts.type.value_or(0) == 0 && ir_version >= 2) {
        findings.add(Rule::attribute_type, path, "the attribute has no type");
    }
    if (parts.reference.empty()) {
        check_value_fields(findings, parts, path);
    } else {
        check_reference(findings, parts, path, owner);
    }
}

void check_attribute_messages(Checking& checking, const onnx::Message& attribute,
                              const FieldPath& path, NodeListCheck& body) {
    for (const wire::FieldRow* const row : model::kValueFields) {
        if (row == nullptr || !row->is_message()) continue;
        if (row->repeated()) {
            for_each_child(attribute, *row, path,
                           [&](const onnx::Message& value, const FieldPath& at) {
                               check_message(checking, value, at, body);
                           });
        } else if (const auto child = attribute.child(*row)) {
            check_message(checking, *child, FieldPath{&path, row}, body);
        }
    }
}

}  // namespace onnxmap::check
