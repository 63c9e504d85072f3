// A repeated message field of a document as a list. Each message is located on access.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "model/document.hpp"
#include "model/field_index.hpp"
#include "model/list_names.hpp"
#include "onnx/message.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::model {

class MessageList {
  public:
    /// `field`: a repeated message field of the message that `fields` indexes.
    MessageList(std::shared_ptr<const FieldIndex> fields, const wire::FieldRow& field)
        : fields_(std::move(fields)), field_(&field) {}

    [[nodiscard]] std::uint64_t count() const noexcept { return fields_->count(*field_); }

    /// The messages by their naming_field(), which they must have. `document`: the document that
    /// they are in.
    [[nodiscard]] std::shared_ptr<const ListNames> names(const Document& document) const {
        return document.names(fields_->message(), *field_);
    }

    /// names()->position() and names()->contains(), which cost no walk over the list after an edit.
    [[nodiscard]] std::optional<std::uint64_t> position(const Document& document,
                                                        std::string_view name) const;
    [[nodiscard]] bool contains(const Document& document, std::string_view name) const;

    /// The i-th message, i < count(). Throws Error if the bytes changed after loading.
    [[nodiscard]] onnx::Message at(std::uint64_t i) const {
        return message_of(fields_->at(*field_, i));
    }

    /// Goes through the messages in order. The list must outlive it.
    class Cursor {
      public:
        explicit Cursor(const MessageList& list)
            : list_(&list), fields_(*list.fields_, *list.field_) {}

        /// False after the last message. Throws Error if the bytes changed after loading.
        bool next(onnx::Message& message) {
            wire::Field field;
            if (!fields_.next(field)) return false;
            message = list_->message_of(field);
            return true;
        }

      private:
        const MessageList* list_;
        FieldIndex::Cursor fields_;
    };

  private:
    [[nodiscard]] onnx::Message message_of(const wire::Field& field) const {
        return fields_->message().inner(*field_, field);
    }

    std::shared_ptr<const FieldIndex> fields_;
    const wire::FieldRow* field_;
};

}  // namespace onnxmap::model
