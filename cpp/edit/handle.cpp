#include "edit/handle.hpp"

#include "model/edit_message.hpp"

namespace onnxmap::edit {

SingularField::SingularField(Handle parent_, const wire::FieldRow* row_)
    : parent(std::move(parent_)), row(row_), depth(parent.absent ? parent.absent->depth + 1 : 1) {
    if (depth > parent.document->limits().depth) fail_edited_too_deep();
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
    const SingularField& field = *handle.absent;
    return model::make_present(document, to_change(field.parent), *field.row);
}

}  // namespace onnxmap::edit
