// `.proto`: the source message under the exact names of onnx.proto.
#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "bindings/bind.hpp"
#include "bindings/python_objects.hpp"
#include "onnx/text_format.hpp"

namespace onnxmap::bindings {

namespace {

struct FieldName {
    std::string_view name;
    std::uint32_t number;
};

struct UnknownField {
    std::uint32_t field_number;
    int wire_type;
    py::object data;
};

const wire::FieldRow& row_of(const ProtoView& view, std::string_view name) {
    const wire::FieldRow* row = view.message.table().find(name);
    if (row == nullptr) {
        throw py::attribute_error(std::string(view.message.table().name) + " has no field " +
                                  std::string(name));
    }
    return *row;
}

py::object value_of(const ProtoView& view, const wire::FieldRow& row) {
    if (row.repeated()) return repeated_to_python(view, row, true);
    if (row.is_message()) {
        auto child = view.document->child(view.message, row);
        if (!child) child = onnx::Message(onnx::kSchema.message_of(row), ByteView{});
        return py::cast(ProtoView{{view.document, std::move(*child)}});
    }
    const auto value = view.document->find(view.message, row);
    return value ? to_python(view.document, row, *value, true) : default_of(row);
}

bool has_field(const ProtoView& view, const py::str& given) {
    const std::string name = to_printable(given);
    const wire::FieldRow* row = view.message.table().find(name);
    if (row == nullptr || row->repeated()) {
        throw py::value_error(std::string(view.message.table().name) + " has no singular field " +
                              name);
    }
    return view.document->find(view.message, *row).has_value();
}

bool is_set(const ProtoView& view, const wire::FieldRow& row) {
    if (!row.repeated() || row.is_message()) {
        return row.repeated() ? view.document->index(view.message)->count(row) > 0
                              : view.document->find(view.message, row).has_value();
    }
    bool any = false;  // a packed run may be empty
    view.message.for_each_value(row, [&](const wire::Field&) { any = true; });
    return any;
}

py::list list_fields(const ProtoView& view) {
    std::vector<const wire::FieldRow*> rows;
    for (const wire::FieldRow& row : view.message.table().fields) {
        if (!row.retired && is_set(view, row)) rows.push_back(&row);
    }
    std::sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->number < b->number; });
    py::list fields;
    for (const wire::FieldRow* row : rows) {
        fields.append(py::make_tuple(FieldName{row->name, row->number}, value_of(view, *row)));
    }
    return fields;
}

py::object which_oneof(const ProtoView& view, const py::str& given) {
    const std::string oneof = to_printable(given);
    const auto fields = view.message.table().fields;
    if (std::none_of(fields.begin(), fields.end(),
                     [&](const wire::FieldRow& row) { return row.oneof == oneof; }) ||
        oneof.empty()) {
        throw py::value_error(std::string(view.message.table().name) + " has no oneof " + oneof);
    }
    const wire::FieldRow* set = view.message.which(oneof);
    return set == nullptr ? py::object(py::none()) : to_str(set->name);
}

py::list unknown_in(ByteView group, std::uint32_t depth_left);

UnknownField unknown_field(const wire::Field& field, std::uint32_t depth_left) {
    py::object data;
    if (field.type == wire::WireType::length_delimited) {
        data = to_bytes(field.bytes);
    } else if (field.type == wire::WireType::start_group) {
        data = unknown_in(field.bytes, depth_left);
    } else {
        data = py::int_(field.value);
    }
    return {field.number, static_cast<int>(field.type), std::move(data)};
}

py::list unknown_in(ByteView group, std::uint32_t depth_left) {
    if (depth_left == 0) {
        throw Error("file.changed", "the bytes are nested deeper than when they were loaded");
    }
    py::list fields;
    wire::Reader reader(group);
    for (wire::Field field; reader.next(field);)
        fields.append(unknown_field(field, depth_left - 1));
    return fields;
}

py::list unknown_fields(const ProtoView& view) {
    py::list fields;
    view.message.for_each_field([&](const wire::Field& field, const wire::FieldRow* row) {
        if (row != nullptr && !row->retired) return;
        wire::Field kept = field;
        kept.bytes = view.document->source().resident(field.bytes);
        fields.append(unknown_field(kept, view.document->limits().depth + 1));
    });
    return fields;
}

std::string text_of(const ProtoView& view, std::uint64_t longest) {
    onnx::TextOptions options;
    options.longest = longest;
    options.max_depth = view.document->limits().depth;
    options.resident = [&](ByteView bytes) { return view.document->source().resident(bytes); };
    return onnx::to_text(view.message, options);
}

}  // namespace

void bind_proto_view(py::module_& module) {
    py::class_<FieldName>(module, "FieldName", "Name and number of a field.")
        .def_property_readonly("name", [](const FieldName& self) { return to_str(self.name); })
        .def_readonly("number", &FieldName::number)
        .def("__repr__", [](const FieldName& self) {
            return "<field " + std::string(self.name) + " = " + std::to_string(self.number) + ">";
        });

    py::class_<UnknownField>(module, "UnknownField",
                             "A field that the schema does not know: `data` is an int, bytes, or "
                             "for a group a list of UnknownField.")
        .def_readonly("field_number", &UnknownField::field_number)
        .def_readonly("wire_type", &UnknownField::wire_type)
        .def_readonly("data", &UnknownField::data);

    GuardedClass<ProtoView>(
        module, "ProtoView",
        "A read-only view of a message under the names of onnx.proto: `view.graph.node[0].op_type`."
        " An absent field reads as protobuf's default, an absent message as an empty view.")
        .def("__getattr__",
             [](const ProtoView& self, const py::str& name) {
                 return value_of(self, row_of(self, to_printable(name)));
             })
        .def("__dir__",
             [](const ProtoView& self) {
                 py::list names;
                 for (const wire::FieldRow& row : self.message.table().fields) {
                     names.append(to_str(row.name));
                 }
                 for (const char* name : {"HasField", "ListFields", "WhichOneof", "message_type",
                                          "to_text", "unknown_fields"}) {
                     names.append(name);
                 }
                 return names;
             })
        .def_property_readonly(
            "message_type", [](const ProtoView& self) { return to_str(self.message.table().name); },
            "Name of the message, like TensorProto.")
        .def("HasField", has_field, py::arg("name"),
             "Whether a singular field is present; an explicit default is.")
        .def("ListFields", list_fields, "(field, value) of each field that is set, by number.")
        .def("WhichOneof", which_oneof, py::arg("name"), "The member that is set, or None.")
        .def_property_readonly("unknown_fields", unknown_fields,
                               "Fields that today's onnx.proto does not know, in file order.")
        .def("to_text", text_of, py::arg("longest") = UINT64_MAX,
             "Protobuf's text format; text, bytes and runs longer than `longest` are cut.")
        .def("__str__", [](const ProtoView& self) { return to_str(text_of(self, UINT64_MAX)); })
        .def("__repr__", [](const ProtoView& self) {
            return "<onnxmap.ProtoView " + std::string(self.message.table().name) + ", " +
                   std::to_string(self.message.nbytes()) + " bytes>";
        });
}

}  // namespace onnxmap::bindings
