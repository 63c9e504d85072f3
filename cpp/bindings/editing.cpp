#include "bindings/editing.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bindings/field_encoding.hpp"
#include "bindings/field_mapping.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/python_buffer.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/value_list.hpp"

namespace onnxmap::bindings {

namespace {

// The handle of a bound message, or of what has a `proto`, such as a Graph; nothing for other
// objects.
std::optional<Handle> bound_message(const py::handle& object) {
    if (is_a<ProtoView>(object)) return cpp_value<ProtoView>(object);
    const auto proto =
        py::reinterpret_steal<py::object>(PyObject_GetAttrString(object.ptr(), "proto"));
    if (!proto) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw py::error_already_set();
        PyErr_Clear();
        return std::nullopt;
    }
    if (!is_a<ProtoView>(proto)) return std::nullopt;
    return cpp_value<ProtoView>(proto);
}

// A message of the protobuf library of this type, or nothing.
std::optional<Handle> library_message(std::string_view type_name, const py::handle& object) {
    if (!py::hasattr(object, "SerializeToString") || !py::hasattr(object, "DESCRIPTOR")) {
        return std::nullopt;
    }
    const py::object name = py::getattr(object.attr("DESCRIPTOR"), "name", py::none());
    const std::string_view last = type_name.substr(type_name.rfind('.') + 1);
    if (!name.equal(to_str(last))) return std::nullopt;
    return parsed_message(*onnx::find_message(type_name), object.attr("SerializeToString")());
}

template <class List>
bool is_own(const Handle& handle, const wire::FieldRow& row, const List& list) {
    return list.row == &row && below_guard(handle, [&] { return is_same(list, handle); });
}

// Whether an object is of one of these classes, and the list of that field.
template <class... Lists>
bool is_own_of(const Handle& handle, const wire::FieldRow& row, const py::handle& object) {
    return ((is_a<Lists>(object) && is_own(handle, row, cpp_value<Lists>(object))) || ...);
}

// What a field of messages may be set to: a dict is a message, too.
Handle element_for(const Handle& to, const wire::FieldRow& row, const py::handle& object) {
    if (!py::isinstance<py::dict>(object)) return original_for(to, row.type_name, object, true);
    Handle made = new_message(onnx::kSchema.message_of(row));
    set_fields(made, py::reinterpret_borrow<py::dict>(object));
    return made;
}

}  // namespace

const wire::MessageTable& message_named(std::string_view name) {
    const auto* const table = onnx::find_message(name);
    if (table != nullptr) return *table;
    throw std::invalid_argument("there is no message type named " + std::string(name));
}

Handle parsed_message(const wire::MessageTable& table, const py::object& bytes) {
    return edit::new_document(table, std::make_shared<PythonBuffer>(bytes));
}

bool is_list_of(const Handle& handle, const wire::FieldRow& row, const py::handle& object) {
    return is_own_of<MessageList, ValueList, AttributeMapping, OpsetMapping, StringMapping>(
        handle, row, object);
}

void EditWatch::check() const {
    const onnx::Message now = message();
    if (!now.is(before_) || now.pieces() != before_.pieces()) {
        throw py::value_error("the list was modified while its new values were found");
    }
}

void assign(const Handle& handle, const wire::FieldRow& row, const py::handle& value) {
    if (row.repeated() || row.is_message()) {
        throw py::attribute_error("cannot assign to " + std::string(row.name) +
                                  (row.repeated()
                                       ? ", a repeated field: change its list"
                                       : ", a message: change its fields, or CopyFrom()"));
    }
    edit::change_message(handle, model::set_value, row, encode(row, value));
}

void assign_all(const Handle& handle, const wire::FieldRow& row, const py::handle& values) {
    edit::change_message(handle, model::set_values, row, encode_all(row, values));
}

std::optional<Handle> find_message(std::string_view type_name, const py::handle& object) {
    auto found = bound_message(object);
    if (!found) return library_message(type_name, object);
    return found->made.table().name == type_name ? found : std::nullopt;
}

std::string message_type_of(const py::handle& object) {
    if (const auto bound = bound_message(object)) return std::string(bound->made.table().name);
    if (!py::hasattr(object, "SerializeToString")) return {};
    const std::string name = to_printable(py::str(object.attr("DESCRIPTOR").attr("full_name")));
    constexpr std::string_view kPackage = "onnx.";
    return name.starts_with(kPackage) ? name.substr(kPackage.size()) : name;
}

Handle message_for(std::string_view type_name, const py::handle& object) {
    auto found = find_message(type_name, object);
    if (!found) throw_python(package::wrong_message()(to_str(type_name), object));
    return *std::move(found);
}

Handle original_for(const Handle& to, std::string_view type_name, const py::handle& object,
                    bool to_proto) {
    Handle found = message_for(type_name, object);
    if (to_proto && is_a<ProtoView>(object)) return found;
    return edit::with_external_values(to, found);
}

void set_fields(const Handle& handle, const py::dict& fields) {
    const wire::MessageTable& table = handle.made.table();
    for (const auto& [key, value] : fields) {
        const std::string name = to_printable(py::str(key));
        const wire::FieldRow* row = table.find(name);
        if (row == nullptr) {
            const py::object error =
                package::wrong_name()("field", to_str(table.name), to_str(name));
            throw py::value_error(to_printable(py::str(error)));
        }
        if (value.is_none()) continue;
        if (!row->repeated() && !row->is_message()) {
            assign(handle, *row, value);
        } else if (!row->repeated()) {
            edit::set_message(handle, *row, element_for(handle, *row, value));
        } else if (row->is_message()) {
            std::vector<Handle> elements;
            for (const py::handle each : elements_of(*row, value))
                elements.push_back(element_for(handle, *row, each));
            replace_all(handle, *row, elements);
        } else {
            assign_all(handle, *row, value);
        }
    }
}

}  // namespace onnxmap::bindings
