// Repeated fields whose entries have names: attributes, operator sets, metadata and other strings.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/document.hpp"
#include "model/named_list.hpp"
#include "onnx/message.hpp"
#include "onnx/operators.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

/// The repeated fields that are mappings, by what their entries are.
enum class EntryKind : std::uint8_t { attribute, operator_set, string };
[[nodiscard]] std::optional<EntryKind> entry_kind(const wire::FieldRow& row) noexcept;

/// The field that names the entries of a repeated field: their key, domain or name.
[[nodiscard]] const wire::FieldRow& name_of_entries(const wire::FieldRow& row) noexcept;
/// The field with their value. Null for attributes, which have a field for each type.
[[nodiscard]] const wire::FieldRow* value_of_entries(const wire::FieldRow& row) noexcept;

/// Whether an entry counts if another one of its name stands before it: the last one, but of
/// operator sets the highest version. Source: onnx.proto, ModelProto.opset_import.
[[nodiscard]] bool counts_after(const onnx::Message& entry, const onnx::Message& before);

/// The other name of what the entries of a name are about: "" and "ai.onnx" are one domain. It is
/// asked for each attribute of a loop: the name of an attribute is neither.
[[nodiscard]] inline std::optional<std::string_view> other_spelling(
    const wire::FieldRow& row, std::string_view name) noexcept {
    if (!onnx::plain_domain(name).empty() || entry_kind(row) != EntryKind::operator_set) {
        return std::nullopt;
    }
    return name.empty() ? onnx::kStandardDomain : std::string_view{};
}

/// The entries of a field of the message that `fields` indexes, by name.
[[nodiscard]] NamedList named_entries(const Document& document, const FieldIndex& fields,
                                      const wire::FieldRow& row);

/// The initializers that training changes: the keys of each `initialization_binding` and
/// `update_binding` of a ModelProto, each once. Source: onnx.proto, TrainingInfoProto.
[[nodiscard]] std::vector<std::string_view> state_variables(const Document& document,
                                                            const onnx::Message& model);

}  // namespace onnxmap::model
