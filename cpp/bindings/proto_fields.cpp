#include "bindings/proto_fields.hpp"

#include <utility>

#include "bindings/editing.hpp"
#include "bindings/field_encoding.hpp"
#include "bindings/field_mapping.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/value_list.hpp"

namespace onnxmap::bindings {

namespace {

// The classes give the status of an operator as OperatorStatus, `.proto` as the number.
py::object number_or_member(const wire::FieldRow& row, std::int32_t number, bool as_proto) {
    const bool is_status = onnx::kSchema.enum_of(row).name == "OperatorStatus";
    return is_status && !as_proto ? enum_class("OperatorStatus")(number) : py::int_(number);
}

// The value of an absent scalar. The ONNX protos declare no defaults of their own.
py::object default_of(const wire::FieldRow& row, bool as_proto) {
    switch (row.type) {
        case wire::Type::string: return py::str();
        case wire::Type::bytes: return py::bytes();
        case wire::Type::float32:
        case wire::Type::float64: return py::float_(0.0);
        case wire::Type::enumeration: return number_or_member(row, 0, as_proto);
        default: return py::int_(0);
    }
}

// What an edit added may be in another file, which no guard covers.
py::bytes bytes_of(const model::Document& document, ByteView bytes) {
    if (document.store().holds(bytes)) return to_bytes(document.resident(bytes));
    auto copy = owned<py::bytes>(
        PyBytes_FromStringAndSize(nullptr, static_cast<py::ssize_t>(bytes.size())));
    document.read(bytes,
                  {reinterpret_cast<std::uint8_t*>(PyBytes_AS_STRING(copy.ptr())), bytes.size()});
    return copy;
}

}  // namespace

py::object to_python(const DocumentPtr& document, const onnx::Message& parent,
                     const wire::FieldRow& row, const wire::Field& value, bool as_proto) {
    switch (row.type) {
        case wire::Type::int64: return py::int_(value.int64());
        case wire::Type::uint64: return py::int_(value.value);
        case wire::Type::int32: return py::int_(value.int32());
        case wire::Type::enumeration: return number_or_member(row, value.int32(), as_proto);
        case wire::Type::float32: return py::float_(value.float32());
        case wire::Type::float64: return py::float_(value.float64());
        case wire::Type::string: return to_str(as_text(document->resident(value.bytes)));
        case wire::Type::bytes: return bytes_of(*document, value.bytes);
        case wire::Type::message: break;
    }
    return wrap_message({document, parent.inner(row, value)}, as_proto);
}

py::object scalar_value(const Handle& handle, const wire::FieldRow& row, bool as_proto) {
    const onnx::Message message = handle.message();
    const auto value = handle.document->find(message, row);
    return value ? to_python(handle.document, message, row, *value, as_proto)
                 : default_of(row, as_proto);
}

py::object repeated_to_python(const Handle& handle, const wire::FieldRow& row, bool as_proto) {
    if (row.is_message()) {
        return make_object<MessageList>(handle, &row, as_proto);
    }
    return make_object<ValueList>(handle, &row, as_proto);
}

py::object property_value(const Handle& handle, const wire::FieldRow& row) {
    if (row.repeated()) {
        py::object mapping = mapping_of(handle, row);
        return mapping ? mapping : repeated_to_python(handle, row, false);
    }
    if (row.is_message()) {
        auto child = handle.document->child(handle.message(), row);
        return child ? wrap_message({handle.document, std::move(*child)}) : py::none();
    }
    return scalar_value(handle, row, false);
}

const wire::FieldRow& row_named(const Handle& handle, std::string_view name) {
    const wire::MessageTable& table = handle.made.table();
    const wire::FieldRow* row = table.find(name);
    if (row == nullptr)
        throw_python(package::wrong_name()("field", to_str(table.name), to_str(name)));
    return *row;
}

std::string name_of_field(const py::object& given) {
    if (py::isinstance<py::str>(given)) return to_printable(py::str(given));
    if (!py::isinstance<py::bytes>(given)) throw py::value_error("expected the name of a field");
    return py::bytes(given);
}

void set_property(const Handle& handle, const wire::FieldRow& row, const py::object& value) {
    if (is_list_of(handle, row, value)) {
        return;  // `node.inputs += ["x"]` assigns the list that it has changed
    }
    if (model::entry_kind(row)) {
        set_entries(handle, row, value);
    } else if (row.repeated() && row.is_message()) {
        std::vector<Handle> elements;
        for (const py::handle each : elements_of(row, value)) {
            elements.push_back(original_for(handle, row.type_name, each, false));
        }
        replace_all(handle, row, elements);
    } else if (row.repeated()) {
        check_is_list(row, value);
        assign_all(handle, row, value);
    } else if (!row.is_message()) {
        assign(handle, row, value);
    } else if (value.is_none()) {
        edit::clear(handle, row);
    } else {
        set_fields(handle, py::dict(py::arg(std::string(row.name).c_str()) = value));
    }
}

}  // namespace onnxmap::bindings
