#include "model/entries.hpp"

#include "model/last_by_name.hpp"

namespace onnxmap::model {

using onnx::field;

bool holds_strings(const wire::FieldRow& field) noexcept {
    return field.type_name == "StringStringEntryProto";
}

std::vector<StringEntry> string_entries(const Document& document, const onnx::Message& message,
                                        const wire::FieldRow& row) {
    LastByName<StringEntry> entries;
    document.index(message)->for_each(row, [&](const wire::Field& value) {
        const onnx::Message entry = onnx::message_in(row, value);
        const std::string_view key = entry.text(field<"StringStringEntryProto.key">);
        entries.set(key, {key, entry.text(field<"StringStringEntryProto.value">)});
    });
    return std::move(entries).values();
}

std::vector<StringEntry> metadata_props(const Document& document, const onnx::Message& message) {
    return string_entries(document, message, *message.table().find("metadata_props"));
}

std::vector<OpsetImport> opset_imports(const Document& document, const onnx::Message& message) {
    LastByName<OpsetImport> imports;
    const wire::FieldRow& row = *message.table().find("opset_import");
    document.index(message)->for_each(row, [&](const wire::Field& value) {
        const onnx::Message opset = onnx::message_in(row, value);
        const std::string_view domain = opset.text(field<"OperatorSetIdProto.domain">);
        imports.set(domain, {domain, opset.int64(field<"OperatorSetIdProto.version">)});
    });
    return std::move(imports).values();
}

}  // namespace onnxmap::model
