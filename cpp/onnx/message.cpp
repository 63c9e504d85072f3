#include "onnx/message.hpp"

#include <utility>

#include "base/error.hpp"

namespace onnxmap::onnx {

namespace {

// Whether a later field `other` replaces `row`, as another member of the same oneof does.
bool replaces(const wire::FieldRow& row, const wire::FieldRow* other) noexcept {
    return other != nullptr && other != &row && !row.oneof.empty() && other->oneof == row.oneof;
}

}  // namespace

void fail_too_deep(const Message& message) {
    if (message.changes() != nullptr && message.changes()->any()) fail_edited_too_deep();
    onnxmap::fail_too_deep();
}

Message::Message(const wire::MessageTable& table, std::vector<ByteView> occurrences,
                 const Changes* changes)
    : table_(&table), changes_(changes) {
    if (!occurrences.empty()) bytes_ = occurrences.front();
    if (occurrences.size() > 1) {
        pieces_ = std::make_shared<const Pieces>(std::move(occurrences));
    }
    find_changes();
}

void Message::look_up() {
    if (auto changed = changes_->find(key())) {
        pieces_ = std::move(changed);
    } else if (edited() && !changes_->is_added(key())) {
        pieces_ = std::shared_ptr<const Pieces>(pieces_->merged());  // the edits were reverted
    }
}

std::optional<wire::Field> Message::find(const wire::FieldRow& row) const {
    std::optional<wire::Field> found;
    if (edited() && row.oneof.empty()) {
        if (const auto place = pieces_->find_last(row)) found = pieces_->field_at(*place);
        return found;
    }
    // Only this field matters, so other fields need not be looked up in the schema.
    if (!pieces_ && is_plain(row)) {
        wire::Reader reader(bytes_);
        if (!reader.last(row.number, row.wire_type(), found.emplace())) found.reset();
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
    if (edited() && row.oneof.empty() && pieces_->count(row) <= 1) {
        const auto field = find(row);
        return field ? std::optional(inner(row, *field)) : std::nullopt;
    }
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
    if (pieces.empty()) return Message(table, first.value_or(empty), changes_);
    return Message(table, std::move(pieces), changes_);
}

const wire::FieldRow* Message::which(std::string_view oneof) const {
    const wire::FieldRow* set = nullptr;
    for_each_field([&](const wire::Field&, const wire::FieldRow* known) {
        if (known != nullptr && known->oneof == oneof) set = known;
    });
    return set;
}

}  // namespace onnxmap::onnx
