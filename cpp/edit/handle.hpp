// Messages and lists of a document that somebody holds while the document is edited.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "model/document.hpp"
#include "model/edit_message.hpp"
#include "onnx/message.hpp"
#include "onnx/schema.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::edit {

using DocumentPtr = std::shared_ptr<const model::Document>;

struct SingularField;

/// A message of a document, or a field that lacked its message when the handle was made. message()
/// is the message as it is now: for a field, the one that it has, or an empty one.
///
/// Edits do not change which message a handle of a message is. Once it was removed or replaced, it
/// stays what it was, for reading and for writing it to bytes alike: it has its bytes, its key and
/// its edits as before.
struct Handle {
    DocumentPtr document;
    onnx::Message made;                                     // the message when the handle was made
    std::shared_ptr<const SingularField> absent = nullptr;  // the field, if it lacked the message
    // Of an added message: see Edits::keep_alive().
    std::shared_ptr<const void> life = document ? document->keep_alive(made) : nullptr;

    [[nodiscard]] onnx::Message message() const;
};

/// A singular field that lacks its message. An edit of the message puts it there first.
struct SingularField {
    /// Throws Error `limit.depth`: the messages around it are absent, too, and are too many.
    SingularField(Handle parent_, const wire::FieldRow* row_);

    Handle parent;
    const wire::FieldRow* row;
    std::uint32_t depth;  // below a message that is present
};

/// A repeated field, whatever is in it. The handle is of the message that has the field.
struct ListHandle : Handle {
    ListHandle(Handle message, const wire::FieldRow* row_, bool as_proto_)
        : Handle(std::move(message)), row(row_), as_proto(as_proto_) {}

    const wire::FieldRow* row;
    bool as_proto;  // behaves as a list of protobuf
};

inline onnx::Message Handle::message() const {
    if (absent) {
        auto present = document->child(absent->parent.message(), *absent->row);
        return present ? *std::move(present) : made;
    }
    return made.current();
}

/// Calls work() below a guard of the source of what belongs to a document. Edits do so after all
/// values of their callers were converted: a conversion may run any code.
template <class Owned, class Work>
decltype(auto) below_guard(const Owned& owned, Work&& work) {
    return source::guard_reads(owned.document->source(), std::forward<Work>(work));
}

/// Whether both are handles of the same message. An absent message is known by its field.
[[nodiscard]] bool is_same(const Handle& a, const Handle& b);

/// The message of a handle, to be edited by a caller with a guard. Puts an absent one into its
/// parent. Throws Error `edit.removed`.
[[nodiscard]] onnx::Message to_change(const Handle& handle);

/// Edits the message of a handle, below a guard: calls an edit of model/ with the document, the
/// message and the arguments. Throws Error `edit.removed`.
template <class Edited, class Edit, class... Arguments>
decltype(auto) change_message(const Edited& handle, Edit&& edit, Arguments&&... arguments) {
    return below_guard(handle, [&]() -> decltype(auto) {
        return std::forward<Edit>(edit)(*handle.document, to_change(handle),
                                        std::forward<Arguments>(arguments)...);
    });
}

/// Removes all occurrences of a field. Throws Error `edit.removed`.
template <class Edited>
void clear(const Edited& handle, const wire::FieldRow& row) {
    change_message(handle, [&](const model::Document& document, const onnx::Message& message) {
        model::clear(document, message, row);
    });
}

/// Puts an absent message into its parent. Throws Error `edit.removed`.
template <class Edited>
void make_present(const Edited& handle) {
    change_message(handle, [](const model::Document&, const onnx::Message&) {});
}

}  // namespace onnxmap::edit
