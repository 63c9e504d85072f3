// What an AttributeProto means: its type, and which field holds its value.
// Source: onnx.proto, AttributeProto.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/message.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

class Attribute {
  public:
    explicit Attribute(onnx::Message message) : message_(std::move(message)) {}

    [[nodiscard]] const onnx::Message& message() const noexcept { return message_; }

    [[nodiscard]] std::string_view name() const {
        return message_.text(onnx::field<"AttributeProto.name">);
    }

    /// The number of its AttributeType. IR versions 1 and 2 had no `type`: then the first field
    /// that is there tells. 0 if there is none.
    [[nodiscard]] std::int32_t type() const;

    /// The field that holds the value. Null if the type is none of ONNX's, and for a reference to
    /// an attribute of the function (`ref_attr_name`).
    [[nodiscard]] const wire::FieldRow* value_field() const;

  private:
    onnx::Message message_;
};

/// The attributes in a repeated field of a message. Of a repeated name the last one counts, at the
/// place of the first one.
[[nodiscard]] std::vector<Attribute> attributes(const onnx::Message& message,
                                                const wire::FieldRow& row);

/// The attributes with a default of a FunctionProto.
[[nodiscard]] std::vector<Attribute> default_attributes(const onnx::Message& function);

}  // namespace onnxmap::model
