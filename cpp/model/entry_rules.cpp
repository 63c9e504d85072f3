#include "model/entry_rules.hpp"

#include "model/name_table.hpp"

namespace onnxmap::model {

using onnx::field;

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
    document.index(model)->for_each_child(trainings, [&](const onnx::Message& training) {
        for (const wire::FieldRow* bindings : {&field<"TrainingInfoProto.initialization_binding">,
                                               &field<"TrainingInfoProto.update_binding">}) {
            training.for_each_child(*bindings, [&](const onnx::Message& entry) {
                const auto name = entry.text(field<"StringStringEntryProto.key">);
                if (known.add(name).is_new) names.push_back(name);
            });
        }
    });
    return names;
}

}  // namespace onnxmap::model
