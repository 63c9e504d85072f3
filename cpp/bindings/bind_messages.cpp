// The classes of frequent messages. Their properties are the fields of the schema, with repeated
// fields in the plural. Only additional properties are written out here.
#include <string>
#include <string_view>

#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/message_class.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/value_types.hpp"
#include "model/attribute.hpp"
#include "model/node.hpp"
#include "model/value_type.hpp"

namespace onnxmap::bindings {

namespace {

py::object attribute_value(const Attribute& self) {
    const auto* field = model::Attribute(self.message()).value_field();
    if (field == nullptr) return py::none();
    py::object value = property_value(self, *field);
    return field->repeated() ? py::list(value) : value;
}

std::optional<model::ValueType> type_of(const ValueInfo& info) {
    return model::type_of_value(*info.document, info.message());
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
    return type ? shape_of(*type) : py::none();
}

// As `info.proto.type.tensor_type.field = value`, in one step.
void set_of_tensor(const ValueInfo& info, std::string_view field, const py::object& value) {
    const py::object view = py::cast(ProtoView{info});
    const py::object type = view.attr("type");
    const py::object which = type.attr("WhichOneof")("value");
    const std::string kind = which.is_none() ? "tensor_type" : which.cast<std::string>();
    const std::string title = "value " + to_printable(py::repr(view.attr("name")));
    if (kind != "tensor_type" && kind != "sparse_tensor_type") {
        throw py::value_error(title + " is not a tensor: its type is " + kind + "; assign .type");
    }
    const py::object tensor = type.attr(kind.c_str());
    if (field == "shape" && tensor.attr("elem_type").cast<int>() == 0) {
        throw py::value_error(title + " has no element type; assign .dtype first");
    }
    const auto& message = cpp_value<ProtoView>(tensor);
    set_property(message, row_named(message, field), value);
}

void bind_node(py::module_& module) {
    auto cls = message_class<Node>(module, "NodeProto", "A node of a graph or function.");
    bind_fields(cls, "NodeProto", {},
                {{"input",
                  "Names of values; an omitted input is an empty one. `graph.value(name)` has "
                  "the type and the shape."},
                 {"attribute", R"(The attributes as a mapping of names to Attribute, in file order.

Assigning a number, str, bytes, list, array, Tensor, Graph or type makes an attribute of it. If a
name is repeated, its last attribute counts, and you get a RepeatedKeyWarning.)"}});
}

void bind_attribute(py::module_& module) {
    auto cls = message_class<Attribute>(module, "AttributeProto", "An attribute of a node.");
    bind_fields(cls, "AttributeProto",
                {"type", "f", "i", "s", "t", "g", "floats", "ints", "strings", "tensors", "graphs",
                 "sparse_tensor", "sparse_tensors", "tp", "type_protos"});
    cls.def_property_readonly(
        "type",
        [](const Attribute& self) {
            return enum_class("AttributeType")(model::Attribute(self.message()).type());
        },
        R"(The type as an AttributeType.

If the file does not store the type, it is the type of the value that is present.)");
    cls.def_property_readonly(
           "value", attribute_value,
           R"(The value, or None for a reference to an attribute of the function (`ref_attr_name`).

A value is a float, int, bytes, Tensor, Graph, SparseTensor or type, or a list of them. Assigning a
value sets the type as well; a str or an array may be assigned, too.)")
        .def("_assign", edits([](const Attribute& self, const py::object& made) {
                 edit::set_attribute_value(self, message_for("AttributeProto", made));
             }),
             py::arg("made"),
             "Take the value of a new AttributeProto, whose doc_string is cleared.");
}

py::object wrap_type(Handle&& handle) {
    const auto type = model::value_type(handle.message(), handle.document->limits().depth);
    return type ? type_object(*type) : py::none();
}

void bind_value_info(py::module_& module) {
    wrapper_of("TypeProto") = wrap_type;
    auto cls = message_class<ValueInfo>(module, "ValueInfoProto", "The name and type of a value.");
    bind_fields(cls, "ValueInfoProto", {"type"});
    cls.def_property_readonly(
        "dtype", value_dtype,
        "The element type of a tensor as a DataType, or None. A value without a type becomes a "
        "tensor.");
    cls.def_property_readonly(
           "shape", value_shape,
           R"(The dimensions of a tensor as a tuple, or None if the rank is unknown.

Each dimension is an int, a str (`dim_param`) or None (unknown). Placeholders that exporters write for
unknown sizes are None: `?`, `-1`, `None`, `unk__` with digits, negative numbers. `.proto` has them.)")
        .def("_set_of_tensor", edits(set_of_tensor), py::arg("field"), py::arg("value"),
             "Set the elem_type or the shape of a value that is, or becomes, a tensor.");
    cls.def_property_readonly("type", value_type,
                              "The type as a TensorType, SequenceType, MapType, ..., or None.");
}

void bind_function(py::module_& module) {
    auto cls =
        message_class<Function>(module, "FunctionProto", "A function that the model defines.");
    bind_function_values(cls);
    bind_fields(
        cls, "FunctionProto", {},
        {{"opset_import", "The imported operator sets as a mapping of domains to versions."},
         {"attribute_proto",
          "The attributes that have a default, as a mapping of names to Attribute."}});
}

}  // namespace

void bind_messages(py::module_& module) {
    bind_node(module);
    bind_attribute(module);
    bind_value_info(module);
    bind_function(module);
    bind_plain(module, "DeviceConfigurationProto", "A DeviceConfigurationProto.");
    bind_plain(module, "IntIntListEntryProto", "An IntIntListEntryProto.");
    bind_plain(module, "NodeDeviceConfigurationProto", "A NodeDeviceConfigurationProto.");
    bind_plain(module, "OperatorProto", "An OperatorProto.");
    bind_plain(module, "OperatorSetProto", "A set of operators.");
    bind_plain(module, "ShardedDimProto", "A ShardedDimProto.");
    bind_plain(module, "ShardingSpecProto", "A ShardingSpecProto.");
    bind_plain(module, "SimpleShardedDimProto", "A SimpleShardedDimProto.");
    bind_plain(module, "TensorAnnotation", "A TensorAnnotation.");
    bind_plain(module, "TrainingInfoProto", "A TrainingInfoProto.");
}

}  // namespace onnxmap::bindings
