// `.proto`: the source message under the exact names of onnx.proto.
#include <string>
#include <vector>

#include "base/error.hpp"
#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/load_options.hpp"
#include "bindings/message_equality.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "model/message_walk.hpp"
#include "tensor/header.hpp"

namespace onnxmap::bindings {

namespace {

py::object value_of(const ProtoView& view, const wire::FieldRow& row) {
    if (row.repeated()) return repeated_to_python(view, row, true);
    if (!row.is_message()) return scalar_value(view, row, true);
    const onnx::Message message = view.message();
    if (auto child = view.document->child(message, row)) {
        return py::cast(ProtoView{{view.document, std::move(*child)}});
    }
    auto field = std::make_shared<const SingularField>(view, &row);
    const onnx::Message empty(onnx::kSchema.message_of(row), ByteView{});
    return py::cast(ProtoView{{view.document, empty, std::move(field)}});
}

// A singular field, or a oneof.
bool has_field(const ProtoView& view, const py::object& given) {
    const std::string name = name_of_field(given);
    const onnx::Message message = view.message();
    const wire::FieldRow* row = message.table().find(name);
    if (row == nullptr && has_oneof(message.table(), name)) return message.which(name) != nullptr;
    if (row == nullptr || row->repeated()) {
        throw py::value_error(std::string(message.table().name) + " has no singular field " + name);
    }
    return view.document->find(message, *row).has_value();
}

bool is_set(const ProtoView& view, const wire::FieldRow& row) {
    if (!row.repeated() || row.is_message()) {
        return row.repeated() ? view.document->index(view.message())->count(row) > 0
                              : view.document->find(view.message(), row).has_value();
    }
    bool any = false;  // a packed run may be empty
    view.message().for_each_value(row, [&](const wire::Field&) { any = true; });
    return any;
}

// The fields that are set, by number.
std::vector<const wire::FieldRow*> present_rows(const ProtoView& view) {
    std::vector<const wire::FieldRow*> rows;
    for (const wire::FieldRow& row : view.message().table().fields) {
        if (!row.retired && is_set(view, row)) rows.push_back(&row);
    }
    std::sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->number < b->number; });
    return rows;
}

py::list named_fields(const ProtoView& view) {
    return list_of(present_rows(view), [&](const wire::FieldRow* row) {
        return py::make_tuple(to_str(row->name), value_of(view, *row));
    });
}

py::object which_oneof(const ProtoView& view, const py::object& given) {
    const std::string oneof = name_of_field(given);
    if (!has_oneof(view.message().table(), oneof)) {
        throw py::value_error(std::string(view.message().table().name) + " has no oneof " + oneof);
    }
    const wire::FieldRow* set = view.message().which(oneof);
    return set == nullptr ? py::object(py::none()) : to_str(set->name);
}

// The folder of the external data, if the message holds a tensor that needs it; open_policy();
// whether the document is lenient; and its limits.
py::tuple reading(const ProtoView& view) {
    bool is_external = false;
    model::for_each_tensor(view.message(), view.document->limits().depth,
                           [&](const std::string&, const onnx::Message& tensor) {
                               is_external = is_external || tensor::read_header(tensor).external;
                           });
    const tensor::Store& store = view.document->store();
    return py::make_tuple(py::bytes(is_external ? store.external.root() : std::string()),
                          open_policy(*view.document), static_cast<bool>(store.tolerate),
                          limits_of(*view.document));
}

// A constant that protobuf's class of the message has: `FLOAT` of TensorProto, or
// `DIMS_FIELD_NUMBER`. Throws AttributeError.
std::int64_t constant_named(const ProtoView& view, const std::string& name) {
    const wire::MessageTable& table = view.made.table();
    for (const wire::EnumTable& each : onnx::kSchema.enums) {
        if (each.name.substr(0, each.name.find('.')) != table.name) continue;
        for (const wire::EnumValue& value : each.values) {
            if (value.name == name) return value.number;
        }
    }
    for (const wire::FieldRow& row : table.fields) {
        std::string constant(row.name);
        for (char& c : constant) {
            if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
        }
        if (name == constant + "_FIELD_NUMBER" && !row.retired) return row.number;
    }
    return row_named(view, name).number;  // it throws the error that suggests names
}

UnknownFieldList unknown_fields(const ProtoView& view) {
    return {view.document, std::make_shared<const model::UnknownFields>(view.message())};
}

}  // namespace

void bind_proto_view(py::module_& module) {
    GuardedClass<ProtoView> cls(
        module, "ProtoView",
        R"(A message under the names of onnx.proto, with protobuf's Python interface.

An absent field reads as protobuf's default, and an absent message as an empty view; writing to the
view makes the message present. A message that was removed from its model can still be read. Equal
messages have the same hash, so an edit changes the hash.

Example:
    >>> model.proto.graph.node[0].op_type)",
        equality_slots());
    bind_proto_bytes(cls);
    bind_proto_edits(cls);
    bind_text_forms(module, cls);
    cls.def("__getattr__",
            [](const ProtoView& self, const py::str& given) -> py::object {
                const std::string name = to_printable(given);
                if (const auto* const row = self.made.table().find(name)) {
                    return value_of(self, *row);
                }
                return py::int_(constant_named(self, name));
            })
        .def_property_readonly(
            "message_type",
            [](const ProtoView& self) { return to_str(self.message().table().name); },
            "The name of the message's type, such as TensorProto.")
        .def("HasField", has_field, py::arg("name"),
             R"(Return whether a singular field is present, even if it holds its default.

`name` may be a oneof: is one of its members present?

Raises:
    ValueError: the message has no such field.)")
        .def("__contains__", has_field, py::arg("name"), "Return HasField(name).")
        .def("_fields", named_fields,
             "Return `(name, value)` for each field that is set, sorted by number.")
        .def("WhichOneof", which_oneof, py::arg("name"),
             "Return the name of the member of the oneof that is set, or None.")
        .def("_reading", reading, "Return how to read a copy of the message as this one is read.")
        .def_property_readonly("unknown_fields", unknown_fields,
                               R"(The fields that today's onnx.proto does not know, in file order.

A sequence of UnknownField.)");
    module.def("message_type_of", message_type_of, py::arg("object"),
               R"(Return the type of a message, like "NodeProto"; an empty string for other objects.

The message is a ProtoView, an object that has one (`.proto`), or protobuf's own.)");
    module.def(
        "document_of",
        [](const ProtoView& view) -> py::object {
            const onnx::Message message = view.message();
            if (!view.document->root().is(message)) return py::none();
            return py::cast(std::const_pointer_cast<model::Document>(view.document));
        },
        py::arg("view"), "Return the document that a view is the whole of, or None.");
    module.def("root_of", guarded([](const ProtoView& view) {
                   return ProtoView{{view.document, view.document->root()}};
               }),
               py::arg("view"), "Return the whole message that a view is a part of.");
    module.def("wrap", guarded([](const ProtoView& view) { return wrap_message(view); }),
               py::arg("view"),
               "Return the object of a message's class, or a ProtoView if its type has no class.");
    module.def(
        "set_property",
        guarded(edits([](const ProtoView& view, std::string_view name, const py::object& value) {
            set_property(view, row_named(view, name), value);
        })),
        py::arg("view"), py::arg("name"), py::arg("value"),
        "Set a field: a list replaces all values, a mapping all entries, and a message or "
        "None the message.");
    module.def("property_value", guarded([](const ProtoView& view, std::string_view name) {
                   return property_value(view, row_named(view, name));
               }),
               "Return the value of a field in the form in which Node, Graph and the other "
               "classes give it.");
}

}  // namespace onnxmap::bindings
