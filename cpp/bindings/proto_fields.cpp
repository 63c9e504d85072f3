#include "bindings/proto_fields.hpp"

#include <algorithm>
#include <utility>

#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"

namespace onnxmap::bindings {

namespace {

// The classes give the status of an operator as OperatorStatus, `.proto` as the number.
py::object number_or_member(const wire::FieldRow& row, std::int32_t number, bool as_proto) {
    const bool is_status = onnx::kSchema.enum_of(row).name == "OperatorStatus";
    return is_status && !as_proto ? package::operator_status()(number) : py::int_(number);
}

}  // namespace

py::object to_python(const DocumentPtr& document, const wire::FieldRow& row,
                     const wire::Field& value, bool as_proto) {
    switch (row.type) {
        case wire::Type::int64: return py::int_(value.int64());
        case wire::Type::uint64: return py::int_(value.value);
        case wire::Type::int32: return py::int_(value.int32());
        case wire::Type::enumeration: return number_or_member(row, value.int32(), as_proto);
        case wire::Type::float32: return py::float_(value.float32());
        case wire::Type::float64: return py::float_(value.float64());
        case wire::Type::string: return to_str(as_text(document->source().resident(value.bytes)));
        case wire::Type::bytes: return to_bytes(document->source().resident(value.bytes));
        case wire::Type::message: break;
    }
    Handle handle{document, onnx::message_in(row, value)};
    if (as_proto) return py::cast(ProtoView{std::move(handle)});
    return wrap_message(std::move(handle));
}

py::object default_of(const wire::FieldRow& row) {
    switch (row.type) {
        case wire::Type::string: return py::str();
        case wire::Type::bytes: return py::bytes();
        case wire::Type::float32:
        case wire::Type::float64: return py::float_(0.0);
        default: return py::int_(0);
    }
}

py::object repeated_to_python(const Handle& handle, const wire::FieldRow& row, bool as_proto) {
    if (row.is_message()) {
        model::MessageList messages(handle.document->index(handle.message), row);
        return py::cast(MessageList{handle.document, std::move(messages), as_proto});
    }
    py::list values;
    handle.message.for_each_field([&](const wire::Field& found, const wire::FieldRow* known) {
        if (known != &row) return;
        wire::Field run = found;
        run.bytes = handle.document->source().resident(found.bytes);
        onnx::Message::unpack(row, run, [&](const wire::Field& value) {
            values.append(to_python(handle.document, row, value, as_proto));
        });
    });
    return values;
}

py::object friendly_value(const Handle& handle, const wire::FieldRow& row) {
    if (model::holds_strings(row)) {
        return read_only(model::string_entries(*handle.document, handle.message, row), row.name);
    }
    if (row.repeated()) return repeated_to_python(handle, row, false);
    if (row.is_message()) {
        auto child = handle.document->child(handle.message, row);
        return child ? wrap_message({handle.document, std::move(*child)}) : py::none();
    }
    const auto value = handle.document->find(handle.message, row);
    if (value) return to_python(handle.document, row, *value, false);
    if (row.type == wire::Type::enumeration) return number_or_member(row, 0, false);
    return default_of(row);
}

const wire::FieldRow& row_named(const Handle& handle, std::string_view name) {
    const wire::MessageTable& table = handle.message.table();
    const wire::FieldRow* row = table.find(name);
    if (row == nullptr) {
        const py::object error = package::missing_field()(to_str(table.name), to_str(name));
        PyErr_SetObject(PyExc_AttributeError, error.ptr());
        throw py::error_already_set();
    }
    return *row;
}

py::object fail_missing_attribute(const py::object& self, std::string_view message,
                                  const py::str& name) {
    const py::object error = package::missing_attribute()(py::type::of(self), message, name);
    PyErr_SetObject(PyExc_AttributeError, error.ptr());
    throw py::error_already_set();
}

py::object read_only(const model::ByName<model::StringEntry>& found, std::string_view field) {
    warn_if_repeated(found.repeated, field);
    py::dict mapping;
    for (const auto& [key, value] : found.entries) mapping[to_str(key)] = to_str(value);
    return read_only(mapping);
}

void warn_if_repeated(std::optional<std::string_view> name, std::string_view field) {
    if (name) package::warn_repeated()(to_str(field), to_str(*name));
}

std::vector<FieldProperty> field_properties(std::string_view message,
                                            std::initializer_list<std::string_view> except) {
    const wire::MessageTable& table = *onnx::find_message(message);
    std::vector<FieldProperty> properties;
    for (const wire::FieldRow& row : table.fields) {
        if (std::ranges::find(except, row.name) != except.end()) continue;
        std::string name(row.name);
        if (row.repeated() && !name.ends_with('s')) name += 's';
        properties.push_back(
            {&row, std::move(name), std::string(table.name) + "." + std::string(row.name)});
    }
    return properties;
}

}  // namespace onnxmap::bindings
