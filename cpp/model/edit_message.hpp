// Edits of a message, as protobuf defines them. Each gives the message a new list of fields; see
// model/edits.hpp. The callers have checked that the values fit the schema.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/document.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

/// A new value of a field: its complete field in the wire format, or content that stays where it
/// is.
struct NewValue {
    std::string encoded;
    // Of a text field or a packed run; `encoded` is empty then.
    std::shared_ptr<const source::Source> source = {};
    ByteView content = {};  // of the source
};

/// A text, or bytes that are copied.
[[nodiscard]] NewValue text_value(const wire::FieldRow& row, std::string_view text);

/// Content of at least this many bytes stays where it is; less is copied.
inline constexpr std::uint64_t kLeastHeld = 4096;

/// Whether this holds for the texts of a field: for bytes, documentation and the values of string
/// entries. Names are copied, because indexes look at them.
[[nodiscard]] bool is_text_held(const wire::FieldRow& row) noexcept;

/// Throws Error `edit.removed` if the message is no longer part of its document.
void check_editable(const Document& document, const onnx::Message& message);

/// fields_of() the message. Throws what check_editable() throws.
[[nodiscard]] std::shared_ptr<const onnx::Pieces> editable_fields(const Document& document,
                                                                  const onnx::Message& message);

/// Sets a singular field that is no message. Clears the other members of its oneof.
void set_value(const Document& document, const onnx::Message& message, const wire::FieldRow& row,
               const NewValue& value);

/// Replaces all values of a repeated field that is no message, with one field for each new value
/// (which is a whole run, if the field is packed).
void set_values(const Document& document, const onnx::Message& message, const wire::FieldRow& row,
                std::span<const NewValue> values);

/// Replaces some values of a repeated field, each of which is a field of its own.
void splice_values(const Document& document, const onnx::Message& message,
                   const wire::FieldRow& row, std::uint64_t first, std::uint64_t count,
                   std::span<const NewValue> values);

/// Adds values at the end of a repeated field that is no message.
void append_values(const Document& document, const onnx::Message& message,
                   const wire::FieldRow& row, std::span<const NewValue> values);

/// Removes all occurrences of a field.
void clear(const Document& document, const onnx::Message& message, const wire::FieldRow& row);

/// Removes all occurrences of some fields.
void clear(const Document& document, const onnx::Message& message,
           std::span<const wire::FieldRow* const> rows);

/// Removes all fields, unknown ones included.
void clear_all(const Document& document, const onnx::Message& message);

/// A message in another document, or in the same one.
struct Original {
    const Document& document;
    onnx::Message message;
};

/// Puts an empty message, or a copy of `original`, before the i-th message of a repeated field, or
/// at the end if there are only i. Returns the new message.
onnx::Message insert(const Document& document, const onnx::Message& message,
                     const wire::FieldRow& row, std::uint64_t i,
                     const std::optional<Original>& original);

class Rewrite;

/// A copy that is put before the i-th message of a repeated field; at the end if there are only i.
struct Insertion {
    std::uint64_t i;
    Original original;
    const Rewrite* rewrite = nullptr;  // see model/copy_message.hpp
};

/// Adds copies to a repeated field and removes some of its messages, in one step. Ascending: the
/// places of `added`, and the positions in `gone`. All of them count before the step. Returns the
/// copies.
std::vector<onnx::Message> splice_messages(const Document& document, const onnx::Message& message,
                                           const wire::FieldRow& row,
                                           std::span<const Insertion> added,
                                           std::span<const std::uint64_t> gone);

/// Replaces a singular message by a copy, in one step. Clears the other members of its oneof.
void set_message(const Document& document, const onnx::Message& message, const wire::FieldRow& row,
                 const Original& original);

/// Makes a singular message present, if it is not. Clears the other members of its oneof. Returns
/// the message.
onnx::Message make_present(const Document& document, const onnx::Message& message,
                           const wire::FieldRow& row);

/// Removes some messages of a repeated field; `positions` are ascending.
void erase(const Document& document, const onnx::Message& message, const wire::FieldRow& row,
           std::span<const std::uint64_t> positions);

/// Puts the messages of a repeated field in another order: `order` has each position once.
void reorder(const Document& document, const onnx::Message& message, const wire::FieldRow& row,
             std::span<const std::uint64_t> order);

/// Adds the fields of `original`, which has the same type: singular fields are replaced, singular
/// messages merge, repeated fields grow, unknown fields are added.
void merge_from(const Document& document, const onnx::Message& message, const Original& original);

/// Removes the fields that today's onnx.proto does not know, from the message and all in it.
void discard_unknown(const Document& document, const onnx::Message& message);

}  // namespace onnxmap::model
