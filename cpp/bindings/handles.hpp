// The C++ values of bound objects: a share of the document, and a view of one of its messages.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "bindings/native_class.hpp"
#include "model/document.hpp"
#include "model/graph.hpp"
#include "model/message_list.hpp"
#include "model/unknown_fields.hpp"
#include "onnx/message.hpp"
#include "onnx/schema.hpp"
#include "os/fork_safe_mutex.hpp"

namespace onnxmap::bindings {

using DocumentPtr = std::shared_ptr<const model::Document>;

struct AbsentMessage;

/// A message of a document. Edits do not change which message it is: message() is the message as it
/// is now. A message that was removed or replaced stays what it was, for reading and for writing it
/// to bytes alike: it has its bytes, its key and its edits as before.
struct Handle {
    DocumentPtr document;
    onnx::Message made;                                     // the message when the handle was made
    std::shared_ptr<const AbsentMessage> absent = nullptr;  // where it will be, if it was absent
    // Of an added message: see Edits::keep_alive().
    std::shared_ptr<const void> life = document ? document->keep_alive(made) : nullptr;

    [[nodiscard]] onnx::Message message() const;
};

/// The place of a message that its parent lacks: the first edit puts it there.
struct AbsentMessage {
    /// Throws Error `limit.depth`: the messages around it are absent, too, and are too many.
    AbsentMessage(Handle parent_, const onnx::Message& message, const wire::FieldRow* row_)
        : parent(std::move(parent_)),
          row(row_),
          is_parent_absent(message.key() == nullptr),
          place(is_parent_absent ? nullptr : parent.document->editable().place_of(message, *row)),
          depth(parent.absent ? parent.absent->depth + 1 : 1) {
        if (depth > parent.document->limits().depth) fail_edited_too_deep();
    }

    Handle parent;
    const wire::FieldRow* row;
    bool is_parent_absent;                     // when the handle was made
    mutable model::Edits::TombstonePtr place;  // null: the first; or not yet known
    mutable os::ForkSafeMutex mutex = {};      // of `place`: libc++ has no atomic shared pointers
    std::uint32_t depth;                       // below a message that is present

    /// What was there when the place was cleared; nothing if it was not, since then.
    [[nodiscard]] std::optional<onnx::Message> left(const onnx::Message& message) const {
        model::Edits::TombstonePtr known = known_place();
        if (known == nullptr && is_parent_absent && message.key() != nullptr) {
            known = parent.document->editable().place_of(message, *row);
            model::Edits::TombstonePtr replaced = known;
            const std::lock_guard lock(mutex);
            replaced.swap(place);  // released without the lock
        }
        return parent.document->edits().left(message, *row, known);
    }

    [[nodiscard]] model::Edits::TombstonePtr known_place() const {
        const std::lock_guard lock(mutex);
        return place;
    }
};

/// The handle that an object of a message's class begins with.
[[nodiscard]] inline const Handle& handle_of(PyObject* self) noexcept {
    return cpp_value<Handle>(self);
}

inline onnx::Message Handle::message() const {
    if (absent) {
        const onnx::Message parent = absent->parent.message();
        if (const auto left = absent->left(parent)) return left->current();
        auto present = document->child(parent, *absent->row);
        return present ? *std::move(present) : made;
    }
    return made.current();
}

/// Whether both are handles of the same message. An absent message is known by its place.
[[nodiscard]] inline bool is_same(const Handle& a, const Handle& b) {
    if (a.document != b.document || !a.message().is(b.message())) return false;
    if (!a.absent || !b.absent || a.message().key() != nullptr) return true;
    return a.absent->row == b.absent->row && is_same(a.absent->parent, b.absent->parent);
}

/// A message as an object of a Python class. One C++ type per class, so that pybind11 can tell them
/// apart.
template <onnx::detail::Name class_name>
struct MessageObject : Handle {
    static constexpr auto kClassName = py::detail::const_name(class_name.chars);
};
using ProtoView = MessageObject<"ProtoView">;
using Node = MessageObject<"Node">;
using Attribute = MessageObject<"Attribute">;
using ValueInfo = MessageObject<"ValueInfo">;
using Tensor = MessageObject<"Tensor">;
using SparseTensor = MessageObject<"SparseTensor">;

/// Something that is derived from a document. After an edit it is made again, when it is next asked
/// for.
template <class T>
class Remade {
  public:
    using Made = std::shared_ptr<const T>;

    /// `make()`: makes it. Threads may share a handle: if several come at once, each makes one.
    template <class Make>
    Made get(const model::Document& document, Make&& make) const {
        const std::uint64_t count = document.edits().count();
        if (Made found = known(count)) return found;
        Made made = make();
        Made replaced = made;
        {
            const std::lock_guard lock(state_->mutex);
            replaced.swap(state_->made);  // released without the lock
            state_->made_at = count;
        }
        return made;
    }

    /// What was made after `count` edits of the document; null if nothing was.
    [[nodiscard]] Made known(std::uint64_t count) const {
        const std::lock_guard lock(state_->mutex);
        return state_->made_at == count ? state_->made : nullptr;
    }

  private:
    struct State {
        os::ForkSafeMutex mutex;
        Made made;
        std::uint64_t made_at = 0;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// A function of a model, with the model layer's view of its nodes.
struct Function : Handle {
    static constexpr auto kClassName = py::detail::const_name("Function");
    Remade<model::NodeValues> remade = {};

    [[nodiscard]] std::shared_ptr<const model::NodeValues> node_values() const {
        return remade.get(*document, [&] {
            return std::make_shared<const model::NodeValues>(document, message());
        });
    }
};

/// A graph, with the model layer's view of it.
struct Graph : Handle {
    static constexpr auto kClassName = py::detail::const_name("Graph");
    Remade<model::Graph> remade = {};

    [[nodiscard]] std::shared_ptr<const model::Graph> graph() const {
        return remade.get(
            *document, [&] { return std::make_shared<const model::Graph>(document, message()); });
    }
    [[nodiscard]] std::shared_ptr<const model::NodeValues> node_values() const { return graph(); }
};

/// The tensors of a graph by name. What is made of the graph is shared with the graph's object.
struct Initializers : Graph {
    static constexpr auto kClassName = py::detail::const_name("Initializers");
};
struct SparseInitializers : Graph {
    static constexpr auto kClassName = py::detail::const_name("SparseInitializers");
};

/// A repeated field. The handle is of the message that has the field.
struct ListHandle : Handle {
    ListHandle(Handle message, const wire::FieldRow* row_, bool as_proto_)
        : Handle(std::move(message)), row(row_), as_proto(as_proto_) {
        if (as_proto && !absent) place = document->editable().list_place(made, *row);
    }

    const wire::FieldRow* row;
    bool as_proto;  // elements are ProtoViews, not objects of the message classes
    // A list of `.proto` is detached if its field is cleared, as in protobuf. It can still be read.
    model::Edits::ListPlacePtr place = nullptr;

    /// The message now; the message as it was before the list was detached.
    [[nodiscard]] onnx::Message message() const {
        if (!place) return Handle::message();
        auto left = detached();
        return left ? *std::move(left) : Handle::message();
    }
    [[nodiscard]] std::optional<onnx::Message> detached() const {
        if (!place) return std::nullopt;
        return document->edits().list_owner(place, made.key(), *row);
    }
};

/// A repeated message field as a lazy sequence: elements are made on access.
struct MessageList : ListHandle {
    using ListHandle::ListHandle;
    static constexpr auto kClassName = py::detail::const_name("MessageList");
    Remade<model::MessageList> remade = {};

    [[nodiscard]] std::shared_ptr<const model::MessageList> messages() const {
        return remade.get(*document, [&] {
            const auto left = detached();
            const auto fields = left ? std::make_shared<const model::FieldIndex>(*left, left->key())
                                     : document->index(Handle::message());
            return std::make_shared<const model::MessageList>(fields, *row);
        });
    }
};

/// The unknown fields of a message, or all fields of an unknown group, as a lazy sequence.
struct UnknownFieldList {
    static constexpr auto kClassName = py::detail::const_name("UnknownFieldList");
    DocumentPtr document;
    std::shared_ptr<const model::UnknownFields> fields;
};

}  // namespace onnxmap::bindings

namespace pybind11::detail {

/// pybind11 would pass a null pointer for None, which no function expects.
template <>
class type_caster<onnxmap::bindings::DocumentPtr>
    : public copyable_holder_caster<const onnxmap::model::Document,
                                    onnxmap::bindings::DocumentPtr> {
  public:
    bool load(handle source, bool convert) {
        return !source.is_none() && copyable_holder_caster::load(source, convert);
    }
};

}  // namespace pybind11::detail
