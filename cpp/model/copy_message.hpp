// Copies of messages and fields into a document: from another one, or from elsewhere in the same.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "model/edit_message.hpp"

namespace onnxmap::model {

/// The field of a parent that holds a new message.
struct Copied {
    ByteView field;    // tag, length and content
    ByteView content;  // of the message: identifies it
};

/// An empty message for a field.
[[nodiscard]] Copied empty_message(const Document& document, const wire::FieldRow& row);

/// What a copy has instead of a text; nothing: the same text. `holder` is the field that holds the
/// message with the text.
using Rewrite = std::function<std::optional<std::string>(
    const wire::FieldRow& holder, const wire::FieldRow& row, std::string_view text)>;

/// A copy of a message for a field. Large content, such as raw_data, is not copied: the copy shares
/// the source that has it. Throws Error `limit.depth`.
[[nodiscard]] Copied copy_message(const Document& document, const wire::FieldRow& row,
                                  const Original& original, const Rewrite* rewrite = nullptr);

/// A copy of one field that is no message. Large content is shared.
[[nodiscard]] onnx::EncodedField copy_field(const Document& document, const wire::FieldRow& row,
                                            const wire::Field& field, const Document& from);

/// The fields of a message, one piece each.
[[nodiscard]] std::shared_ptr<const onnx::Pieces> fields_of(const onnx::Message& message);

/// A field with content that stays in its source.
[[nodiscard]] onnx::EncodedField held_field(const Document& document, const wire::FieldRow& row,
                                            std::shared_ptr<const source::Source> source,
                                            ByteView bytes);

}  // namespace onnxmap::model
