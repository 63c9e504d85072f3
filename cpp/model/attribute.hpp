// What an AttributeProto means: its type, and which field holds its value.
// Source: onnx.proto, AttributeProto.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "model/document.hpp"
#include "onnx/message.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

/// The field that holds values of each AttributeProto.AttributeType, by the number of the type.
inline constexpr std::array<const wire::FieldRow*, 15> kValueFields = {
    nullptr,
    &onnx::field<"AttributeProto.f">,
    &onnx::field<"AttributeProto.i">,
    &onnx::field<"AttributeProto.s">,
    &onnx::field<"AttributeProto.t">,
    &onnx::field<"AttributeProto.g">,
    &onnx::field<"AttributeProto.floats">,
    &onnx::field<"AttributeProto.ints">,
    &onnx::field<"AttributeProto.strings">,
    &onnx::field<"AttributeProto.tensors">,
    &onnx::field<"AttributeProto.graphs">,
    &onnx::field<"AttributeProto.sparse_tensor">,
    &onnx::field<"AttributeProto.sparse_tensors">,
    &onnx::field<"AttributeProto.tp">,
    &onnx::field<"AttributeProto.type_protos">,
};

/// The field that holds values of a type, or null if ONNX does not define the type.
[[nodiscard]] constexpr const wire::FieldRow* field_of(std::int32_t type) noexcept {
    const bool is_known = type >= 0 && static_cast<std::size_t>(type) < kValueFields.size();
    return is_known ? kValueFields[static_cast<std::size_t>(type)] : nullptr;
}

/// Removes the value of an AttributeProto, or the name of the attribute that it refers to.
void clear_value(const Document& document, const onnx::Message& attribute);

class Attribute {
  public:
    explicit Attribute(onnx::Message message) : message_(std::move(message)) {}

    [[nodiscard]] const onnx::Message& message() const noexcept { return message_; }

    [[nodiscard]] std::string_view name() const {
        return message_.text(onnx::field<"AttributeProto.name">);
    }

    /// The number of the attribute's AttributeType, or 0 if the attribute has no value. IR versions
    /// 1 and 2 had no `type`; the first value field that is present then determines the type.
    [[nodiscard]] std::int32_t type() const;

    /// The field that holds the value. Null if ONNX does not define the type, or if the attribute
    /// refers to an attribute of the function (`ref_attr_name`).
    [[nodiscard]] const wire::FieldRow* value_field() const;

    /// Whether it has a field for graphs. Most attributes have none, and this is a shorter walk
    /// than for_each_graph().
    [[nodiscard]] bool may_hold_graph() const {
        onnx::Message::Walk walk(message_);
        for (wire::Field found; walk.next(found);) {
            if (onnx::Message::belongs(found, onnx::field<"AttributeProto.g">) ||
                onnx::Message::belongs(found, onnx::field<"AttributeProto.graphs">))
                return true;
        }
        return false;
    }

    /// Calls visit(graph) for each GraphProto that is the value or in the value, in order.
    template <class Visit>
    void for_each_graph(Visit&& visit) const {
        const wire::FieldRow* field = value_field();
        if (field == &onnx::field<"AttributeProto.g">) {
            if (const auto graph = message_.child(*field)) visit(*graph);
        } else if (field == &onnx::field<"AttributeProto.graphs">) {
            message_.for_each_child(*field, [&](const onnx::Message& value) { visit(value); });
        }
    }

  private:
    onnx::Message message_;
};

/// The attributes in a repeated field of a message. If a name is repeated, the last attribute
/// counts, at the place of the first one.
[[nodiscard]] std::vector<Attribute> attributes(const onnx::Message& message,
                                                const wire::FieldRow& row);

}  // namespace onnxmap::model
