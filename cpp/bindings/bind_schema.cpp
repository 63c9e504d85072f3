// The schema tables as Python data: for tests, enums and the text tools.
#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/python_objects.hpp"
#include "onnx/data_type.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::bindings {

namespace {

const char* type_name(wire::Type type) {
    switch (type) {
        case wire::Type::int64: return "int64";
        case wire::Type::int32: return "int32";
        case wire::Type::uint64: return "uint64";
        case wire::Type::float32: return "float";
        case wire::Type::float64: return "double";
        case wire::Type::string: return "string";
        case wire::Type::bytes: return "bytes";
        case wire::Type::enumeration: return "enum";
        case wire::Type::message: return "message";
    }
    return "";
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
            facts["type"] = type_name(row.type);
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
        py::dict values;
        for (const wire::EnumValue& value : table.values) values[to_str(value.name)] = value.number;
        enums[to_str(table.name)] = values;
    }
    py::dict result;
    result["messages"] = messages;
    result["enums"] = enums;
    return result;
}

py::dict enum_values(std::string_view name) {
    for (const wire::EnumTable& table : onnx::kSchema.enums) {
        if (table.name != name) continue;
        py::dict values;
        for (const wire::EnumValue& value : table.values) values[to_str(value.name)] = value.number;
        return values;
    }
    throw py::key_error(std::string(name));
}

const onnx::DataTypeInfo& info_of(std::int32_t number) {
    const onnx::DataTypeInfo* info = onnx::find_data_type(number);
    if (info == nullptr) throw py::type_error("UNDEFINED is not an element type");
    return *info;
}

py::list data_type_facts() {
    py::list facts;
    for (const onnx::DataTypeInfo& info : onnx::data_types()) {
        facts.append(py::make_tuple(to_str(info.name), static_cast<int>(info.type), info.bits,
                                    to_str(info.storage->name), to_str(info.numpy)));
    }
    return facts;
}

}  // namespace

void bind_schema(py::module_& module) {
    module.def("schema", schema, "Return all messages and enums of the schema, as dicts.");
    module.def("enum_values", enum_values, py::arg("name"),
               "Return the members of an enum of the schema.");
    module.def("data_type_facts", data_type_facts,
               "Return name, number, bits, typed field and NumPy name of each element type.");
    module.def(
        "data_type_bits", [](std::int32_t number) { return info_of(number).bits; },
        py::arg("number"),
        "Return the bits of one element; 0 if the elements have no fixed width.");
    module.def(
        "numpy_dtype", [](std::int32_t number) { return numpy_dtype(info_of(number)); },
        py::arg("number"), "Return the numpy.dtype of an element type.");
}

}  // namespace onnxmap::bindings
