// Fields that a text in protobuf's text format names by number: those that the schema does not
// know. Protobuf's parser refuses them, so they are taken out of the text before it parses the
// rest, and inserted into its result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "wire/message_table.hpp"

namespace onnxmap::onnx {

/// The fields of one message, and of the messages in it.
struct NumberedFields {
    struct Inner;

    std::string bytes;         // encoded one after the other, in the order of the text
    std::vector<Inner> inner;  // messages that have such fields, in the order of insertion

    [[nodiscard]] bool empty() const noexcept { return bytes.empty() && inner.empty(); }
};

struct NumberedFields::Inner {
    std::uint32_t number;  // of the field that holds the message
    std::uint64_t index;   // among the values of that field
    NumberedFields fields;
};

struct SplitText {
    std::string rest;  // blanks instead of each numbered field: what follows keeps line and column
    NumberedFields numbered;
};

/// Takes the numbered fields out of the text of a message. A decimal number is a varint, 0x with 8
/// or 16 digits a fixed32 or fixed64, a string is bytes, and braces enclose a message whose fields
/// are numbered. Stops where the text has anything else: protobuf's parser tells what is wrong.
/// Throws Error `limit.depth`.
[[nodiscard]] SplitText split_numbered(std::string_view text, const wire::MessageTable& table);

/// Returns the message with the fields appended to the messages that had them in the text.
/// `message` is the encoding of the rest of the text. Throws Error `wire.*`.
[[nodiscard]] std::string insert_numbered(ByteView message, const wire::MessageTable& table,
                                          const NumberedFields& fields);

}  // namespace onnxmap::onnx
