#include "bindings/new_attributes.hpp"

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/editing.hpp"
#include "bindings/new_tensors.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/value_types.hpp"
#include "model/attribute.hpp"

namespace onnxmap::bindings {

namespace {

using model::AttributeType;

constexpr const char* kAttributeProto = "AttributeProto";

bool is_string(const py::handle& value) {
    return py::isinstance<py::str>(value) || py::isinstance<py::bytes>(value);
}

// An array in one dimension is a list, as onnx.helper takes it.
bool is_list_of_elements(const py::object& array) {
    if (array.attr("ndim").cast<int>() != 1) return false;
    const auto kind = array.attr("dtype").attr("kind").cast<std::string>();
    return std::string_view("iufUSO").find(kind) != std::string_view::npos;
}

// The type of a value that is not a list; `none` for anything else.
AttributeType single_type(const py::object& value, bool is_element) {
    if (PyLong_Check(value.ptr())) return AttributeType::INT;
    if (PyFloat_Check(value.ptr())) return AttributeType::FLOAT;
    if (is_string(value)) return AttributeType::STRING;
    if (is_array(value)) {
        const bool is_list = !is_element && is_list_of_elements(value);
        return is_list ? AttributeType::none : AttributeType::TENSOR;
    }
    if (py::isinstance(value, python_object<"numbers", "Integral">()) ||
        py::isinstance(value, python_object<"numpy", "bool_">())) {
        return AttributeType::INT;
    }
    if (py::isinstance(value, python_object<"numbers", "Real">())) return AttributeType::FLOAT;
    if (is_type_object(value)) return AttributeType::TYPE_PROTO;
    return model::type_of_attribute(message_type_of(value));
}

py::str name_of(AttributeType type) {
    return enum_class("AttributeType")(static_cast<int>(type)).attr("name");
}

std::string shown(const py::object& name) {
    return "attribute " + to_printable(py::repr(name)) + ": ";
}

// The type of a list, from its elements. Integers among floats are floats.
AttributeType list_type(const py::object& name, const py::list& values) {
    if (values.empty()) {
        throw py::value_error(shown(name) +
                              "an empty list has no type; use onnxmap.make_attribute(name, [], "
                              "attr_type=...)");
    }
    std::set<AttributeType> found;
    for (const py::handle each : values) {
        found.insert(single_type(py::reinterpret_borrow<py::object>(each), true));
    }
    if (found == std::set{AttributeType::INT, AttributeType::FLOAT}) {
        return AttributeType::FLOATS;
    }
    if (found.size() != 1 || *found.begin() == AttributeType::none) {
        throw py::value_error(shown(name) + "the elements of a list must have one type of ONNX");
    }
    return model::list_of(*found.begin());
}

// The value of a field for one value of a type.
py::object field_value(AttributeType type, const py::object& value) {
    switch (type) {
        case AttributeType::INT: return exact_int(value);
        case AttributeType::FLOAT: return owned(PyNumber_Float(value.ptr()));
        case AttributeType::STRING:
            if (py::isinstance<py::bytes>(value)) return value;
            return py::bytes(to_text(py::reinterpret_borrow<py::str>(value)));
        case AttributeType::TENSOR:
            if (!message_type_of(value).empty()) return value;
            return py::cast(ProtoView{tensor_of(value, ArrayMemory::copied)});
        case AttributeType::TYPE_PROTO: return type_message(value);
        default: return value;
    }
}

py::object field_values(AttributeType type, const py::list& values) {
    const AttributeType single = model::element_of(type);
    py::list made;
    for (const py::handle each : values) {
        const auto value = py::reinterpret_borrow<py::object>(each);
        const AttributeType found = single_type(value, true);
        const bool is_integer = single == AttributeType::FLOAT && found == AttributeType::INT;
        if (found != single && !is_integer) {
            throw py::type_error("the elements of the list are not of type " +
                                 to_printable(name_of(single)));
        }
        made.append(field_value(single, value));
    }
    return made;
}

void set_field_of(const Handle& attribute, AttributeType type, const py::object& value) {
    py::dict fields;
    fields[to_str(model::field_of(type)->name)] = value;
    fields["type"] = static_cast<int>(type);
    set_fields(attribute, fields);
}

Handle empty_attribute(const Handle* beside) {
    const auto& table = *onnx::find_message(kAttributeProto);
    if (beside == nullptr) return new_message(table);
    return new_message(table, beside->document->store().external.folder());
}

}  // namespace

Handle new_attribute(const py::object& name, const py::object& value, std::int32_t wanted,
                     const Handle* beside) {
    const auto wanted_type = static_cast<AttributeType>(wanted);
    Handle made = empty_attribute(beside);
    assign(made, row_named(made, "name"), name);
    AttributeType type = single_type(value, false);
    if (wanted_type == AttributeType::TENSOR && is_array(value)) type = AttributeType::TENSOR;
    if (type != AttributeType::none) {
        set_field_of(made, type, field_value(type, value));
    } else {
        if (!py::isinstance(value, python_object<"collections.abc", "Iterable">())) {
            throw py::type_error(shown(name) + "a value of type " + type_name(value) +
                                 " has no type of ONNX");
        }
        const auto values = owned<py::list>(PySequence_List(value.ptr()));
        type = wanted == 0 ? list_type(name, values) : wanted_type;
        if (model::element_of(type) == AttributeType::none) {
            throw py::type_error(shown(name) + "a list cannot be of type " +
                                 to_printable(name_of(type)));
        }
        set_field_of(made, type, field_values(type, values));
    }
    if (wanted != 0 && type != wanted_type) {
        throw py::type_error(shown(name) + "a value of type " + to_printable(name_of(type)) +
                             " is not " + to_printable(name_of(wanted_type)));
    }
    return made;
}

Handle attribute_of(const py::object& name, const py::object& value, const AttributePlace& place) {
    const std::string type = message_type_of(value);
    const Handle* const beside = type.empty() ? nullptr : place.beside;
    if (type == kAttributeProto) {
        Handle made = empty_attribute(beside);
        copy(made, original_for(made, kAttributeProto, value, true));
        assign(made, row_named(made, "name"), name);
        return made;
    }
    const bool is_empty = py::isinstance(value, python_object<"collections.abc", "Sequence">()) &&
                          !is_string(value) && py::len(value) == 0;
    return new_attribute(name, value, is_empty ? place.list_type : 0, beside);
}

void set_attribute_value(const Attribute& attribute, const py::object& value) {
    const auto [name, type] = below_guard(attribute, [&] {
        const model::Attribute core(attribute.message());
        return std::pair(to_str(core.name()), core.type());
    });
    const Handle made = attribute_of(name, value, {&attribute, type});
    const Handle changed = empty_attribute(&attribute);
    copy(changed, attribute);
    edit::change_message(made, model::clear_documentation);
    edit::change_message(changed, model::clear_value);
    merge(changed, made);
    copy(attribute, changed);
}

}  // namespace onnxmap::bindings
