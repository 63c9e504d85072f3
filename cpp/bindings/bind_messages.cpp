// The friendly classes of messages that are met by the thousand. Their properties are the fields
// of the schema, repeated ones in the plural; only what is more than a field is written out.
#include <algorithm>
#include <initializer_list>
#include <string>

#include "bindings/bind.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/same_message.hpp"

namespace onnxmap::bindings {

using onnx::field;
using onnx::message;

namespace {

py::object field_value(const Handle& handle, const wire::FieldRow& row) {
    if (row.repeated()) {
        if (row.type_name == "StringStringEntryProto") return read_only(string_map(handle, row));
        return repeated_to_python(handle, row, false);
    }
    if (row.is_message()) {
        auto child = handle.document->child(handle.message, row);
        return child ? wrap_message({handle.document, std::move(*child)}) : py::none();
    }
    const auto value = handle.document->find(handle.message, row);
    return value ? to_python(handle.document, row, *value, false) : default_of(row);
}

std::string plural(const wire::FieldRow& row) {
    std::string name(row.name);
    if (row.repeated() && !name.ends_with('s')) name += 's';
    return name;
}

// A property per field of the message, except those that the class words differently.
template <class Class>
void bind_fields(GuardedClass<Class>& cls, const wire::MessageTable& table,
                 std::initializer_list<std::string_view> except = {}) {
    for (const wire::FieldRow& row : table.fields) {
        if (std::find(except.begin(), except.end(), row.name) != except.end()) continue;
        const std::string doc = std::string(table.name) + "." + std::string(row.name);
        cls.def_property_readonly(
            plural(row).c_str(), [&row](const Class& self) { return field_value(self, row); },
            doc.c_str());
    }
    cls.def_property_readonly(
        "proto", [](const Class& self) { return ProtoView{self}; },
        "The source message under the exact names of onnx.proto.");
    cls.def("__repr__",
            unguarded([](const py::object& self) { return package::describe()(self); }));
    bind_equality(cls);
}

template <class Class>
void bind_plain(py::module_& module, const char* name, const wire::MessageTable& table) {
    GuardedClass<Class> cls(module, name, ("A " + std::string(table.name) + ".").c_str());
    bind_fields(cls, table);
}

py::object attributes(const Handle& handle, const wire::FieldRow& row) {
    py::dict attributes;
    handle.message.for_each_value(row, [&](const wire::Field& value) {
        const onnx::Message attribute(message<"AttributeProto">, value.bytes);
        attributes[to_str(attribute.text(field<"AttributeProto.name">))] =
            Attribute{{handle.document, attribute}};
    });
    return read_only(attributes);
}

py::object opset_imports(const Handle& handle, const wire::FieldRow& row) {
    py::dict versions;
    handle.message.for_each_value(row, [&](const wire::Field& value) {
        const onnx::Message opset(message<"OperatorSetIdProto">, value.bytes);
        versions[to_str(opset.text(field<"OperatorSetIdProto.domain">))] =
            opset.int64(field<"OperatorSetIdProto.version">);
    });
    return read_only(versions);
}

// Where an attribute of each type keeps its value.
// Source: onnx.proto, AttributeProto.AttributeType.
const wire::FieldRow* value_row(std::int32_t type) {
    switch (type) {
        case 1: return &field<"AttributeProto.f">;
        case 2: return &field<"AttributeProto.i">;
        case 3: return &field<"AttributeProto.s">;
        case 4: return &field<"AttributeProto.t">;
        case 5: return &field<"AttributeProto.g">;
        case 6: return &field<"AttributeProto.floats">;
        case 7: return &field<"AttributeProto.ints">;
        case 8: return &field<"AttributeProto.strings">;
        case 9: return &field<"AttributeProto.tensors">;
        case 10: return &field<"AttributeProto.graphs">;
        case 11: return &field<"AttributeProto.sparse_tensor">;
        case 12: return &field<"AttributeProto.sparse_tensors">;
        case 13: return &field<"AttributeProto.tp">;
        case 14: return &field<"AttributeProto.type_protos">;
        default: return nullptr;
    }
}

// IR versions before 3 had no `type`: the field that is there says it.
std::int32_t attribute_type(const Attribute& attribute) {
    if (const auto type = attribute.message.find(field<"AttributeProto.type">)) {
        return type->int32();
    }
    constexpr std::int32_t kLastType = 14;
    for (std::int32_t type = 1; type <= kLastType; ++type) {
        const wire::FieldRow& row = *value_row(type);
        bool present = false;
        attribute.message.for_each_value(row, [&](const wire::Field&) { present = true; });
        if (present) return type;
    }
    return 0;
}

py::object type_object(const Handle& handle) { return package::make_type()(ProtoView{handle}); }

py::object attribute_value(const Attribute& attribute) {
    const wire::FieldRow* row = value_row(attribute_type(attribute));
    if (row == nullptr || !attribute.message.text(field<"AttributeProto.ref_attr_name">).empty()) {
        return py::none();
    }
    const bool is_type = row->is_message() && row->type_name == "TypeProto";
    if (is_type && !row->repeated()) {
        const auto type = attribute.document->child(attribute.message, *row);
        return type ? type_object({attribute.document, *type}) : py::none();
    }
    if (row->repeated() && row->is_message()) {
        py::list values;
        attribute.message.for_each_value(*row, [&](const wire::Field& value) {
            Handle handle{attribute.document,
                          onnx::Message(onnx::kSchema.message_of(*row), value.bytes)};
            values.append(is_type ? type_object(handle) : wrap_message(std::move(handle)));
        });
        return values;
    }
    return field_value(attribute, *row);
}

// TypeProto.Tensor and TypeProto.SparseTensor have the same two fields.
std::optional<onnx::Message> tensor_type(const ValueInfo& info) {
    const auto type = info.document->child(info.message, field<"ValueInfoProto.type">);
    if (!type) return std::nullopt;
    if (auto tensor = info.document->child(*type, field<"TypeProto.tensor_type">)) return tensor;
    return info.document->child(*type, field<"TypeProto.sparse_tensor_type">);
}

py::object value_dtype(const ValueInfo& info) {
    const auto type = tensor_type(info);
    if (!type) return py::none();
    const auto number = type->find(*type->table().find("elem_type"));
    return number ? data_type_or_int(number->int32()) : py::none();
}

py::object dimension(const onnx::Message& dim) {
    if (const auto value = dim.find(field<"TensorShapeProto.Dimension.dim_value">)) {
        return py::int_(value->int64());
    }
    const auto param = dim.find(field<"TensorShapeProto.Dimension.dim_param">);
    if (!param || param->bytes.empty()) return py::none();
    return to_str(param->text());
}

py::object value_shape(const ValueInfo& info) {
    const auto type = tensor_type(info);
    if (!type) return py::none();
    const auto shape = type->child(*type->table().find("shape"));
    if (!shape) return py::none();
    py::list dims;
    shape->for_each_value(field<"TensorShapeProto.dim">, [&](const wire::Field& value) {
        dims.append(dimension(onnx::Message(message<"TensorShapeProto.Dimension">, value.bytes)));
    });
    return py::tuple(dims);
}

void bind_node(py::module_& module) {
    GuardedClass<Node> cls(module, "Node", "A node of a graph or function.");
    bind_fields(cls, message<"NodeProto">, {"attribute"});
    cls.def_property_readonly(
        "attributes",
        [](const Node& self) { return attributes(self, field<"NodeProto.attribute">); },
        "Read-only mapping of names to Attribute, in file order.");
}

void bind_attribute(py::module_& module) {
    GuardedClass<Attribute> cls(module, "Attribute", "An attribute of a node.");
    bind_fields(cls, message<"AttributeProto">,
                {"type", "f", "i", "s", "t", "g", "floats", "ints", "strings", "tensors", "graphs",
                 "sparse_tensor", "sparse_tensors", "tp", "type_protos"});
    cls.def_property_readonly(
        "type",
        [](const Attribute& self) { return package::attribute_type()(attribute_type(self)); },
        "AttributeType; where the file has none, that of the value which is present.");
    cls.def_property_readonly(
        "value", attribute_value,
        "float, int, bytes, Tensor, Graph, SparseTensor, a type, or a list of them; None for a "
        "reference to an attribute of the function (`ref_attr_name`).");
}

void bind_value_info(py::module_& module) {
    GuardedClass<ValueInfo> cls(module, "ValueInfo", "Name and type of a value.");
    bind_fields(cls, message<"ValueInfoProto">, {"type"});
    cls.def_property_readonly("dtype", value_dtype, "DataType of a tensor, or None.");
    cls.def_property_readonly(
        "shape", value_shape,
        "Tuple of int, str (dim_param) or None (unknown) per dimension; None: rank unknown.");
    cls.def_property_readonly(
        "type",
        [](const ValueInfo& self) -> py::object {
            const auto type = self.document->child(self.message, field<"ValueInfoProto.type">);
            return type ? type_object({self.document, *type}) : py::none();
        },
        "TensorType, SequenceType, MapType ..., or None.");
}

void bind_function(py::module_& module) {
    GuardedClass<Function> cls(module, "Function", "A function that the model defines.");
    bind_fields(cls, message<"FunctionProto">, {"opset_import", "attribute_proto"});
    cls.def_property_readonly(
        "opset_imports",
        [](const Function& self) {
            return opset_imports(self, field<"FunctionProto.opset_import">);
        },
        "Read-only mapping of domain to version.");
    cls.def_property_readonly(
        "attribute_protos",
        [](const Function& self) {
            return attributes(self, field<"FunctionProto.attribute_proto">);
        },
        "Attributes with a default: read-only mapping of names to Attribute.");
}

}  // namespace

void bind_messages(py::module_& module) {
    bind_node(module);
    bind_attribute(module);
    bind_value_info(module);
    bind_function(module);
    bind_plain<TrainingInfo>(module, "TrainingInfo", message<"TrainingInfoProto">);
    bind_plain<Operator>(module, "Operator", message<"OperatorProto">);
    bind_plain<DeviceConfiguration>(module, "DeviceConfiguration",
                                    message<"DeviceConfigurationProto">);
    bind_plain<NodeDeviceConfiguration>(module, "NodeDeviceConfiguration",
                                        message<"NodeDeviceConfigurationProto">);
    bind_plain<ShardingSpec>(module, "ShardingSpec", message<"ShardingSpecProto">);
    bind_plain<ShardedDim>(module, "ShardedDim", message<"ShardedDimProto">);
    bind_plain<SimpleShardedDim>(module, "SimpleShardedDim", message<"SimpleShardedDimProto">);
    bind_plain<IntIntListEntry>(module, "IntIntListEntry", message<"IntIntListEntryProto">);
    bind_plain<QuantizationAnnotation>(module, "QuantizationAnnotation",
                                       message<"TensorAnnotation">);
    module.def("opset_imports", guarded([](const ProtoView& view) {
                   return opset_imports(view, *view.message.table().find("opset_import"));
               }));
    module.def("metadata_props", guarded([](const ProtoView& view) {
                   return read_only(string_map(view, *view.message.table().find("metadata_props")));
               }));
    module.def("wrap", guarded([](const ProtoView& view) { return wrap_message(view); }),
               py::arg("view"), "The friendly object of a message, where its type has one.");
    module.def("friendly", guarded([](const ProtoView& view, std::string_view name) {
                   const wire::FieldRow* row = view.message.table().find(name);
                   if (row == nullptr) throw py::attribute_error(std::string(name));
                   return field_value(view, *row);
               }),
               "The value of a field as the friendly classes have it.");
}

}  // namespace onnxmap::bindings
