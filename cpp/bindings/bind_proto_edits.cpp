// Changes of messages by protobuf's Python interface, on `.proto`.
#include <pybind11/stl.h>

#include <string>

#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"

namespace onnxmap::bindings {

namespace {

// Names with two underscores, such as __class__, are Python's own.
void set_attribute(const py::object& self, const py::str& given, const py::object& value) {
    const std::string name = to_printable(given);
    if (name.starts_with("__")) {
        if (PyObject_GenericSetAttr(self.ptr(), given.ptr(), value.ptr()) != 0) {
            throw py::error_already_set();
        }
        return;
    }
    const auto& view = checked_value<ProtoView>(self);
    assign(view, row_named(view, name), value);
}

void delete_attribute(const ProtoView&, const py::str& name) {
    throw py::attribute_error("cannot delete " + to_printable(name) + "; use ClearField()");
}

// A field, or the member of a oneof that is set.
void clear_field(const ProtoView& self, const py::object& given) {
    const std::string name = name_of_field(given);
    const onnx::Message message = self.message();
    const wire::FieldRow* row = message.table().find(name);
    if (row == nullptr) {
        if (!has_oneof(message.table(), name)) {
            throw py::value_error(std::string(message.table().name) + " has no field " + name);
        }
        row = message.which(name);
        if (row == nullptr) {
            edit::make_present(self);  // as after every edit
            return;
        }
    }
    edit::clear(self, *row);
}

void clear_all(const ProtoView& self) { edit::change_message(self, model::clear_all); }

void merge_from(const ProtoView& self, const py::object& other) {
    merge(self, message_for(self.made.table().name, other));
}

void copy_from(const ProtoView& self, const py::object& other) {
    copy(self, message_for(self.made.table().name, other));
}

void discard_unknown(const ProtoView& self) { edit::change_message(self, model::discard_unknown); }

}  // namespace

void bind_proto_edits(GuardedClass<ProtoView>& cls) {
    cls.def("__setattr__", edits<ProtoView>(set_attribute), py::arg("name"), py::arg("value"))
        .def("__delattr__", delete_attribute, py::arg("name"))
        .def("ClearField", edits(guarded(clear_field)), py::arg("name"),
             R"(Remove a field, or the member of a oneof that is set.

Raises:
    ValueError: the message has no field of this name.)")
        .def("Clear", edits(clear_all), "Remove all fields, unknown ones included.")
        .def("SetInParent", edits([](const ProtoView& self) { edit::make_present(self); }),
             "Make the message present in its parent.")
        .def("MergeFrom", edits(merge_from), py::arg("other"),
             R"(Add the fields of a message of the same type.

Singular fields are replaced, singular messages merge, repeated fields grow. `other` may be a message
of the protobuf library.

Raises:
    TypeError: `other` is not a message of this type.)")
        .def("CopyFrom", edits(copy_from), py::arg("other"),
             R"(Replace all fields by those of a message of the same type.

Raises:
    TypeError: `other` is not a message of this type.)")
        .def("DiscardUnknownFields", edits(discard_unknown),
             "Remove the unknown fields of the message and of all messages in it.");
}

}  // namespace onnxmap::bindings
