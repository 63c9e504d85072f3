// The schema tables as Python data: for tests, enums and the text tools.
#include <array>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/python_objects.hpp"
#include "model/attribute.hpp"
#include "onnx/data_type.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::bindings {

namespace {

// By wire::Type.
constexpr std::array kTypeNames = {"int64",  "int32", "uint64", "float",  "double",
                                   "string", "bytes", "enum",   "message"};

py::dict members_of(const wire::EnumTable& table) {
    py::dict values;
    for (const wire::EnumValue& value : table.values) values[to_str(value.name)] = value.number;
    return values;
}

py::dict schema() {
    py::dict messages;
    for (const wire::MessageTable& table : onnx::kSchema.messages) {
        py::list rows;
        for (const wire::FieldRow& row : table.fields) {
            py::dict facts;
            facts["number"] = row.number;
            facts["name"] = to_str(row.name);
            facts["label"] = row.repeated() ? "repeated" : "optional";
            facts["type"] = kTypeNames.at(static_cast<std::size_t>(row.type));
            facts["type_name"] = to_str(row.type_name);
            facts["default"] = py::none();  // the ONNX protos declare none
            facts["oneof"] = to_str(row.oneof);
            facts["packed"] = row.packed;
            facts["retired"] = row.retired;
            rows.append(facts);
        }
        messages[to_str(table.name)] = rows;
    }
    py::dict enums;
    for (const wire::EnumTable& table : onnx::kSchema.enums) {
        enums[to_str(table.name)] = members_of(table);
    }
    py::dict result;
    result["messages"] = messages;
    result["enums"] = enums;
    return result;
}

py::dict enum_values(std::string_view name) {
    for (const wire::EnumTable& table : onnx::kSchema.enums) {
        if (table.name == name) return members_of(table);
    }
    throw py::key_error(std::string(name));
}

const onnx::DataTypeInfo& info_of(std::int32_t number) {
    const onnx::DataTypeInfo* info = onnx::find_data_type(number);
    if (info == nullptr) throw py::type_error("UNDEFINED is not an element type");
    return *info;
}

py::list data_type_facts() {
    return list_of(onnx::data_types(), [](const onnx::DataTypeInfo& info) {
        return py::make_tuple(to_str(info.name), static_cast<int>(info.type), info.bits,
                              to_str(info.storage->name), to_str(info.numpy));
    });
}

py::dict attribute_fields() {
    py::dict fields;
    for (const py::handle type : enum_values("AttributeProto.AttributeType").attr("values")()) {
        const auto* const row = model::field_of(type.cast<int>());
        if (row != nullptr) fields[type] = to_str(row->name);
    }
    return fields;
}

}  // namespace

void bind_schema(py::module_& module) {
    module.def("schema", schema, "Return all messages and enums of the schema, as dicts.");
    module.def("enum_values", enum_values, py::arg("name"),
               "Return the members of an enum of the schema.");
    module.def("data_type_facts", data_type_facts,
               "Return name, number, bits, typed field and NumPy name of each element type.");
    module.def("attribute_fields", attribute_fields,
               "Return the field of the value of each AttributeType that has one.");
    module.def(
        "data_type_bits", [](std::int32_t number) { return info_of(number).bits; },
        py::arg("number"),
        "Return the bits of one element; 0 if the elements have no fixed width.");
    module.def(
        "data_type_named",
        [](const py::object& name) {
            const bool is_text = py::isinstance<py::str>(name);
            const auto* const info = is_text ? type_named(to_printable(name)) : nullptr;
            return info == nullptr ? 0 : static_cast<int>(info->type);
        },
        py::arg("name"),
        "Return the number of the type with this name of ONNX or NumPy, or spelling; 0 for none.");
    module.def(
        "numpy_dtype", [](std::int32_t number) { return numpy_dtype(info_of(number)); },
        py::arg("number"), "Return the numpy.dtype of an element type.");
}

}  // namespace onnxmap::bindings
