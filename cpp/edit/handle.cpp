#include "edit/handle.hpp"

#include <mutex>

#include "model/edit_message.hpp"

namespace onnxmap::edit {

AbsentMessage::AbsentMessage(Handle parent_, const onnx::Message& message,
                             const wire::FieldRow* row_)
    : parent(std::move(parent_)),
      row(row_),
      is_parent_absent(message.key() == nullptr),
      place(is_parent_absent ? nullptr : parent.document->editable().place_of(message, *row)),
      depth(parent.absent ? parent.absent->depth + 1 : 1) {
    if (depth > parent.document->limits().depth) fail_edited_too_deep();
}

std::optional<onnx::Message> AbsentMessage::left(const onnx::Message& message) const {
    model::Edits::TombstonePtr known;
    {
        const std::lock_guard lock(mutex);
        known = place;
    }
    if (known == nullptr && is_parent_absent && message.key() != nullptr) {
        known = parent.document->editable().place_of(message, *row);
        model::Edits::TombstonePtr replaced = known;
        const std::lock_guard lock(mutex);
        replaced.swap(place);  // released without the lock
    }
    return parent.document->edits().left(message, *row, known);
}

bool is_same(const Handle& a, const Handle& b) {
    if (a.document != b.document || !a.message().is(b.message())) return false;
    if (!a.absent || !b.absent || a.message().key() != nullptr) return true;
    return a.absent->row == b.absent->row && is_same(a.absent->parent, b.absent->parent);
}

onnx::Message to_change(const Handle& handle) {
    const model::Document& document = *handle.document;
    if (!handle.absent) {
        onnx::Message message = handle.message();
        model::check_editable(document, message);
        return message;
    }
    const AbsentMessage& place = *handle.absent;
    const onnx::Message parent = to_change(place.parent);
    if (place.left(parent)) model::fail_removed(handle.made);
    return model::make_present(document, parent, *place.row);
}

}  // namespace onnxmap::edit
