#include "onnx/message.hpp"

#include <utility>

namespace onnxmap::onnx {

namespace {

// Whether a later field `other` replaces `row`, as another member of the same oneof does.
bool replaces(const wire::FieldRow& row, const wire::FieldRow* other) noexcept {
    return other != nullptr && other != &row && !row.oneof.empty() && other->oneof == row.oneof;
}

}  // namespace

Message::Message(const wire::MessageTable& table, std::vector<ByteView> pieces) : table_(&table) {
    if (pieces.size() <= 1) {
        bytes_ = pieces.empty() ? ByteView{} : pieces.front();
    } else {
        std::uint64_t nbytes = 0;
        for (const ByteView& piece : pieces) nbytes += piece.size();
        pieces_ = std::make_shared<const Pieces>(std::move(pieces), nbytes);
    }
}

std::size_t Message::piece_at(const std::uint8_t* p) const noexcept {
    std::size_t low = 0;
    for (std::size_t high = piece_count(); high - low > 1;) {
        const std::size_t middle = low + (high - low) / 2;
        (piece(middle).data() <= p ? low : high) = middle;
    }
    return low;
}

std::optional<wire::Field> Message::find(const wire::FieldRow& row) const {
    std::optional<wire::Field> found;
    if (row.oneof.empty() && row.type != wire::Type::enumeration) {
        // Only this field matters, so other fields need not be looked up in the schema.
        read_fields([&](const wire::Field& field) {
            if (field.number == row.number && row.accepts(field.type)) found = field;
        });
        return found;
    }
    for_each_field([&](const wire::Field& field, const wire::FieldRow* known) {
        if (known == &row) {
            found = field;
        } else if (replaces(row, known)) {
            found.reset();
        }
    });
    return found;
}

std::optional<Message> Message::child(const wire::FieldRow& row) const {
    bool present = false;
    ByteView empty;  // an empty piece: a message is identified by its address
    std::optional<ByteView> first;
    std::vector<ByteView> pieces;  // only from the second on, so that the usual case is free
    for_each_field([&](const wire::Field& field, const wire::FieldRow* known) {
        if (known == &row) {
            present = true;
            if (field.bytes.empty()) {
                empty = field.bytes;
                return;
            }
            if (!first) {
                first = field.bytes;
            } else {
                if (pieces.empty()) pieces.push_back(*first);
                pieces.push_back(field.bytes);
            }
        } else if (replaces(row, known)) {
            present = false;
            first.reset();
            pieces.clear();
        }
    });
    if (!present) return std::nullopt;
    const wire::MessageTable& table = kSchema.message_of(row);
    if (pieces.empty()) return Message(table, first.value_or(empty));
    return Message(table, std::move(pieces));
}

const wire::FieldRow* Message::which(std::string_view oneof) const {
    const wire::FieldRow* set = nullptr;
    for_each_field([&](const wire::Field&, const wire::FieldRow* known) {
        if (known != nullptr && known->oneof == oneof) set = known;
    });
    return set;
}

}  // namespace onnxmap::onnx
