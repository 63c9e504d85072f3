// The classes of frequent messages. Their properties are the fields of the schema, with repeated
// fields in the plural. Only additional properties are written out here.
#include <string>
#include <string_view>

#include "bindings/bind.hpp"
#include "bindings/display.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/value_types.hpp"
#include "model/attribute.hpp"
#include "model/data_value.hpp"
#include "model/entries.hpp"
#include "model/node.hpp"
#include "model/value_type.hpp"

namespace onnxmap::bindings {

namespace {

// A class with only the fields of its message.
template <class Class>
void bind_plain(py::module_& module, const char* name, const char* message) {
    const bool vowel = std::string_view("AEIOU").find(message[0]) != std::string_view::npos;
    const std::string doc = (vowel ? "An " : "A ") + std::string(message) + ".";
    GuardedClass<Class> cls(module, name, doc.c_str());
    bind_fields(cls, message);
    bind_display(cls);
}

py::object by_name(const Handle& handle, const model::ByName<model::Attribute>& attributes,
                   std::string_view field) {
    warn_if_repeated(attributes.repeated, field);
    py::dict mapping;
    for (const model::Attribute& attribute : attributes.entries) {
        mapping[to_str(attribute.name())] = Attribute{{handle.document, attribute.message()}};
    }
    return read_only(mapping);
}

py::object opset_imports(const Handle& handle) {
    py::dict versions;
    for (const auto& [domain, version] : model::opset_imports(*handle.document, handle.message)) {
        versions[to_str(domain)] = version;
    }
    return read_only(versions);
}

py::object attribute_value(const Attribute& self) {
    const auto* field = model::Attribute(self.message).value_field();
    if (field == nullptr) return py::none();
    py::object value = friendly_value(self, *field);
    return py::isinstance<MessageList>(value) ? py::list(value) : value;
}

std::optional<model::ValueType> type_of(const ValueInfo& info) {
    return model::type_of_value(*info.document, info.message);
}

py::object value_type(const ValueInfo& info) {
    const auto type = type_of(info);
    return type ? type_object(*type) : py::none();
}

py::object value_dtype(const ValueInfo& info) {
    const auto type = type_of(info);
    const bool is_known = type && type->is_tensor() && type->elem_type;
    return is_known ? data_type_or_int(*type->elem_type) : py::none();
}

py::object value_shape(const ValueInfo& info) {
    const auto type = type_of(info);
    return type && type->shape ? py::object(dimensions(*type->shape)) : py::none();
}

void bind_node(py::module_& module) {
    GuardedClass<Node> cls(module, "Node", "A node of a graph or function.");
    bind_fields(cls, "NodeProto", {"attribute"});
    bind_html_display(cls);
    cls.def_property_readonly(
        "attributes",
        [](const Node& self) {
            return by_name(self, model::Node(self.message).attributes(), "attribute");
        },
        R"(The attributes as a read-only mapping of names to Attribute, in file order.

If a name is repeated, its last attribute counts, and you get a RepeatedKeyWarning.)");
}

void bind_attribute(py::module_& module) {
    GuardedClass<Attribute> cls(module, "Attribute", "An attribute of a node.");
    bind_fields(cls, "AttributeProto",
                {"type", "f", "i", "s", "t", "g", "floats", "ints", "strings", "tensors", "graphs",
                 "sparse_tensor", "sparse_tensors", "tp", "type_protos"});
    bind_html_display(cls);
    cls.def_property_readonly(
        "type",
        [](const Attribute& self) {
            return package::attribute_type()(model::Attribute(self.message).type());
        },
        R"(The type as an AttributeType.

If the file does not store the type, it is the type of the value that is present.)");
    cls.def_property_readonly(
        "value", attribute_value,
        R"(The value, or None for a reference to an attribute of the function (`ref_attr_name`).

A value is a float, int, bytes, Tensor, Graph, SparseTensor or type, or a list of them.)");
}

void bind_value_info(py::module_& module) {
    GuardedClass<ValueInfo> cls(module, "ValueInfo", "The name and type of a value.");
    bind_fields(cls, "ValueInfoProto", {"type"});
    bind_html_display(cls);
    cls.def_property_readonly("dtype", value_dtype,
                              "The element type of a tensor as a DataType, or None.");
    cls.def_property_readonly("shape", value_shape,
                              R"(The dimensions as a tuple, or None if the rank is unknown.

Each dimension is an int, a str (`dim_param`) or None (unknown).)");
    cls.def_property_readonly("type", value_type,
                              "The type as a TensorType, SequenceType, MapType, ..., or None.");
}

void bind_function(py::module_& module) {
    GuardedClass<Function> cls(module, "Function", "A function that the model defines.");
    bind_fields(cls, "FunctionProto", {"opset_import", "attribute_proto"});
    bind_html_display(cls);
    cls.def_property_readonly(
        "opset_imports", [](const Function& self) { return opset_imports(self); },
        "The imported operator sets as a read-only mapping of domains to versions.");
    cls.def_property_readonly(
        "attribute_protos",
        [](const Function& self) {
            return by_name(self, model::default_attributes(self.message), "attribute_proto");
        },
        "The attributes that have a default, as a read-only mapping of names to Attribute.");
}

}  // namespace

void bind_messages(py::module_& module) {
    bind_node(module);
    bind_attribute(module);
    bind_value_info(module);
    bind_function(module);
    bind_plain<TrainingInfo>(module, "TrainingInfo", "TrainingInfoProto");
    bind_plain<Operator>(module, "Operator", "OperatorProto");
    bind_plain<DeviceConfiguration>(module, "DeviceConfiguration", "DeviceConfigurationProto");
    bind_plain<NodeDeviceConfiguration>(module, "NodeDeviceConfiguration",
                                        "NodeDeviceConfigurationProto");
    bind_plain<ShardingSpec>(module, "ShardingSpec", "ShardingSpecProto");
    bind_plain<ShardedDim>(module, "ShardedDim", "ShardedDimProto");
    bind_plain<SimpleShardedDim>(module, "SimpleShardedDim", "SimpleShardedDimProto");
    bind_plain<IntIntListEntry>(module, "IntIntListEntry", "IntIntListEntryProto");
    bind_plain<QuantizationAnnotation>(module, "QuantizationAnnotation", "TensorAnnotation");
    module.def("opset_imports", guarded([](const ProtoView& view) { return opset_imports(view); }));
    module.def("metadata_props", guarded([](const ProtoView& view) {
                   return read_only(model::metadata_props(*view.document, view.message),
                                    "metadata_props");
               }));
    module.def("state_variables", guarded([](const ProtoView& view) {
                   py::list names;
                   for (const auto name : model::state_variables(*view.document, view.message)) {
                       names.append(to_str(name));
                   }
                   return names;
               }));
    module.def("sequence_values", guarded([](const ProtoView& view) {
                   const auto* field = model::sequence_field(view.message);
                   return field == nullptr ? py::list() : repeated_to_python(view, *field, true);
               }),
               py::arg("sequence"), "Return the messages that a SequenceProto holds.");
    module.def("optional_value", guarded([](const ProtoView& view) -> py::object {
                   auto value = model::optional_value(*view.document, view.message);
                   if (!value) return py::none();
                   return py::cast(ProtoView{{view.document, *std::move(value)}});
               }),
               py::arg("optional"), "Return the message that an OptionalProto holds, or None.");
    module.def("map_keys", guarded([](const ProtoView& view) {
                   const auto& field = model::keys_field(*view.document, view.message);
                   return repeated_to_python(view, field, true);
               }),
               py::arg("map"),
               "Return the keys of a MapProto, as many as it has values. Texts are bytes.");
    module.def("wrap", guarded([](const ProtoView& view) { return wrap_message(view); }),
               py::arg("view"),
               "Return the object of a message's class, or a ProtoView if its type has no class.");
    module.def("friendly", guarded([](const ProtoView& view, std::string_view name) {
                   return friendly_value(view, row_named(view, name));
               }),
               "Return the value of a field in the form in which Node, Graph and the other "
               "classes give it.");
}

}  // namespace onnxmap::bindings
