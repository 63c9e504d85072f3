// Python values for edits. The functions convert them without a guard, because that may run any
// code, and then call one function of edit/ or model/. Those of model/ are for callers with a
// guard.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/guarded.hpp"
#include "bindings/handles.hpp"
#include "edit/message_edits.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

using edit::copy;
using edit::kAtEnd;
using edit::merge;
using edit::new_message;
using edit::NewElement;
using edit::replace_all;
using edit::splice;
using edit::to_change;

/// A message that `bytes`, a buffer, is parsed as. Throws Error `wire.*`.
[[nodiscard]] Handle parsed_message(const wire::MessageTable& table, const py::object& bytes);

/// Whether a Python object is the list of this field of this message.
[[nodiscard]] bool is_list_of(const Handle& handle, const wire::FieldRow& row,
                              const py::handle& object);

/// The `+=` of a list, by the function that extends it. Throws TypeError for a list of a `.proto`:
/// Python would assign the list to its field, which protobuf refuses.
template <class List, void (*extend)(const List&, const py::object&)>
py::object add_in_place(const py::object& self, const py::object& values) {
    const auto& list = checked_value<List>(self);
    if (list.as_proto) {
        throw py::type_error("a list of a `.proto` has no +=, as in protobuf; use extend()");
    }
    extend(list, values);
    return self;
}

/// Notices that a message is edited, or another one takes its place, by the Python code that the
/// conversion of values runs.
class EditWatch {
  public:
    explicit EditWatch(const Handle& handle) : handle_(handle), before_(message()) {}

    /// Throws ValueError, as list.sort() does.
    void check() const;

  private:
    [[nodiscard]] onnx::Message message() const {
        return below_guard(handle_, [&] { return handle_.message(); });
    }

    const Handle& handle_;
    onnx::Message before_;
};

/// Sets a field to a Python value, as `message.field = value` does. Throws AttributeError for a
/// message or a repeated field, and what encode() throws.
void assign(const Handle& handle, const wire::FieldRow& row, const py::handle& value);

/// Replaces all values of a repeated field that is no message. Throws what encode_all() throws.
void assign_all(const Handle& handle, const wire::FieldRow& row, const py::handle& values);

/// Sets fields as protobuf's constructors do: a repeated field takes an iterable, a message a dict
/// or a message; None leaves a field alone. Throws ValueError for a name that is no field.
void set_fields(const Handle& handle, const py::dict& fields);

/// The table of a message type. Throws std::invalid_argument if ONNX has none of that name.
[[nodiscard]] const wire::MessageTable& message_named(std::string_view name);

/// A message: a ProtoView, an object of a message's class, or a message of the protobuf library.
/// Throws TypeError if it is no message of this type.
[[nodiscard]] Handle message_for(std::string_view type_name, const py::handle& object);

/// The same, or nothing if the object is no such message.
[[nodiscard]] std::optional<Handle> find_message(std::string_view type_name,
                                                 const py::handle& object);

/// The type of the message that an object is, or has, like "NodeProto"; it may be of the protobuf
/// library. An empty string for other objects.
[[nodiscard]] std::string message_type_of(const py::handle& object);

/// The message that an object is, for a copy in the document of `to`. Between `.proto` and `.proto`
/// it is copied as protobuf does. If another object comes from a model with another folder, it is
/// returned as a copy that has the values of its external tensors. Throws what message_for() and
/// model::CopiedExternalValues throw.
[[nodiscard]] Handle original_for(const Handle& to, std::string_view type_name,
                                  const py::handle& object, bool to_proto);

}  // namespace onnxmap::bindings
