#include "model/entries.hpp"

#include <algorithm>

#include "model/name_table.hpp"

namespace onnxmap::model {

using onnx::field;

bool holds_strings(const wire::FieldRow& field) noexcept {
    return field.type_name == "StringStringEntryProto";
}

ByName<StringEntry> string_entries(const Document& document, const onnx::Message& message,
                                   const wire::FieldRow& row) {
    LastByName<StringEntry> entries;
    document.index(message)->for_each(row, [&](const wire::Field& value) {
        const onnx::Message entry = message.inner(row, value);
        const std::string_view key = entry.text(field<"StringStringEntryProto.key">);
        entries.set(key, {key, entry.text(field<"StringStringEntryProto.value">)});
    });
    return std::move(entries).found();
}

std::optional<EntryKind> entry_kind(const wire::FieldRow& row) noexcept {
    if (!row.repeated() || !row.is_message()) return std::nullopt;
    const wire::MessageTable& entries = onnx::kSchema.message_of(row);
    if (&entries == &onnx::message<"AttributeProto">) return EntryKind::attribute;
    if (&entries == &onnx::message<"OperatorSetIdProto">) return EntryKind::operator_set;
    if (&entries == &onnx::message<"StringStringEntryProto">) return EntryKind::string;
    return std::nullopt;
}

const wire::FieldRow& name_of_entries(const wire::FieldRow& row) noexcept {
    const auto kind = entry_kind(row);
    if (kind == EntryKind::string) return field<"StringStringEntryProto.key">;
    if (kind == EntryKind::operator_set) return field<"OperatorSetIdProto.domain">;
    return *onnx::kSchema.message_of(row).find("name");
}

const wire::FieldRow* value_of_entries(const wire::FieldRow& row) noexcept {
    const auto kind = entry_kind(row);
    if (kind == EntryKind::string) return &field<"StringStringEntryProto.value">;
    return kind == EntryKind::operator_set ? &field<"OperatorSetIdProto.version"> : nullptr;
}

bool counts_after(const onnx::Message& entry, const onnx::Message& before) {
    const wire::FieldRow& version = field<"OperatorSetIdProto.version">;
    return &entry.table() != &onnx::message<"OperatorSetIdProto"> ||
           entry.int64(version) > before.int64(version);
}

NamedList named_entries(const Document& document, const FieldIndex& fields,
                        const wire::FieldRow& row) {
    return {document, fields, row, name_of_entries(row)};
}

std::vector<std::string_view> state_variables(const Document& document,
                                              const onnx::Message& model) {
    NameTable known;
    std::vector<std::string_view> names;
    const wire::FieldRow& trainings = field<"ModelProto.training_info">;
    const wire::FieldRow& bindings = field<"TrainingInfoProto.update_binding">;
    document.index(model)->for_each(trainings, [&](const wire::Field& training) {
        model.inner(trainings, training).for_each_value(bindings, [&](const wire::Field& entry) {
            const auto name =
                model.inner(bindings, entry).text(field<"StringStringEntryProto.key">);
            if (known.add(name).is_new) names.push_back(name);
        });
    });
    return names;
}

std::vector<OpsetImport> opset_imports(const Document& document, const onnx::Message& message) {
    NameTable domains;
    std::vector<OpsetImport> imports;
    const wire::FieldRow& row = *message.table().find("opset_import");
    document.index(message)->for_each(row, [&](const wire::Field& value) {
        const onnx::Message opset = message.inner(row, value);
        const std::string_view domain = opset.text(field<"OperatorSetIdProto.domain">);
        const std::int64_t version = opset.int64(field<"OperatorSetIdProto.version">);
        const auto [position, is_new] = domains.add(domain);
        if (is_new) {
            imports.push_back({domain, version});
        } else {
            imports[position].version = std::max(imports[position].version, version);
        }
    });
    return imports;
}

}  // namespace onnxmap::model
