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

/// What a copy has instead of parts of its original. By default: the same.
class Rewrite {
  public:
    virtual ~Rewrite() = default;

    /// Another text for a field; nothing: the same. `holder` is the field that holds the message
    /// with the text.
    [[nodiscard]] virtual std::optional<std::string> text(const wire::FieldRow& /*holder*/,
                                                          const wire::FieldRow& /*row*/,
                                                          std::string_view /*text*/) const {
        return std::nullopt;
    }

    /// Adds a copy of a message of the same document to the message that is copied.
    using Add = std::function<void(const wire::FieldRow& row, const onnx::Message& original,
                                   const Rewrite& rewrite)>;
    /// Adds what takes the place of a message in a field. Returns false if the message stays.
    [[nodiscard]] virtual bool replace(const wire::FieldRow& /*row*/,
                                       const onnx::Message& /*message*/, const Add& /*add*/) const {
        return false;
    }
    /// Adds what a copy has besides the fields of its original.
    virtual void extend(const onnx::Message& /*original*/, const Add& /*add*/) const {}
};

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
