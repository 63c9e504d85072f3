// The rules of an attribute of a node, and of the default of a function's attribute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "check/checking.hpp"
#include "check/node_list_check.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

/// The fields of an AttributeProto.
struct AttributeParts {
    std::string_view name;
    std::string_view reference;  // ref_attr_name
    std::optional<std::int32_t> type;
    std::string_view text;                       // of the field s
    const wire::FieldRow* value = nullptr;       // the first field that has one
    const wire::FieldRow* other = nullptr;       // another one
    const wire::FieldRow* bad_string = nullptr;  // the field of the first that is not UTF-8
    std::uint64_t bad_index = 0;                 // of that string in its field
    std::uint64_t strings = 0;
    bool has_bad_text = false;  // whether check_texts() finds something
    bool has_doc_string = false;
    bool has_messages = false;  // which check_attribute_messages() is for

    void note_string(const wire::FieldRow& row, std::string_view string) noexcept;
};

/// Reads them in one walk.
[[nodiscard]] AttributeParts parts_of(const onnx::Message& attribute);

/// The name of an AttributeType: "INTS".
[[nodiscard]] std::string attribute_type_text(std::int32_t type);

/// The rules of these fields. `owner`: of the attribute's node; null if it is the default of a
/// function's attribute.
void check_attribute(std::int64_t ir_version, Findings& findings, const AttributeParts& parts,
                     const FieldPath& path, const Owner* owner);

/// The rules of the messages in an attribute. `body`: the nodes around it, or those of the function
/// whose default it is.
void check_attribute_messages(Checking& checking, const onnx::Message& attribute,
                              const FieldPath& path, NodeListCheck& body);

}  // namespace onnxmap::check
