// The classes of frequent messages. Their properties are the fields of the schema, with repeated
// fields in the plural. Only additional properties are written out here.
#include <string>
#include <string_view>

#include "bindings/bind.hpp"
#include "bindings/display.hpp"
#include "bindings/editing.hpp"
#include "bindings/field_encoding.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/tensor_access.hpp"
#include "bindings/value_types.hpp"
#include "model/attribute.hpp"
#include "model/data_value.hpp"
#include "model/entries.hpp"
#include "model/node.hpp"
#include "model/value_type.hpp"
#include "model/weights.hpp"

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

void hold_raw_data(const ProtoView& tensor, const py::object& buffer) {
    const model::NewValue held = hold(buffer);
    below_guard(tensor, [&] { model::set_raw_data(*tensor.document, to_change(tensor), held); });
}

bool hold_values(const ProtoView& tensor, const Tensor& values) {
    return with_values(values, [&](const tensor::Values& found) {
        const tensor::Payload* const payload = found.payload();
        // An external file that is read has no addresses.
        if (payload == nullptr || payload->source->data() == nullptr) return false;
        model::NewValue held;
        held.source = payload->source;
        held.content = {payload->source->data() + payload->offset, payload->nbytes};
        model::set_raw_data(*tensor.document, to_change(tensor), held);
        return true;
    });
}

py::object loaded_raw_data(const ProtoView& tensor) {
    const auto bytes = model::loaded_raw_data(*tensor.document, tensor.message());
    if (!bytes) return py::none();
    return py::make_tuple(tensor.document->source().offset_of(*bytes), bytes->size());
}

void hold_loaded(const ProtoView& tensor, std::uint64_t offset, std::uint64_t nbytes) {
    model::set_loaded_raw_data(*tensor.document, to_change(tensor), offset, nbytes);
}

py::object attribute_value(const Attribute& self) {
    const auto* field = model::Attribute(self.message()).value_field();
    if (field == nullptr) return py::none();
    py::object value = friendly_value(self, *field);
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
    return type && type->shape ? py::object(dimensions(*type->shape)) : py::none();
}

void bind_node(py::module_& module) {
    GuardedClass<Node> cls(module, "Node", "A node of a graph or function.");
    bind_fields(cls, "NodeProto", {"attribute"});
    bind_html_display(cls);
    bind_field(cls, "NodeProto", "attribute", "attributes",
               R"(The attributes as a mapping of names to Attribute, in file order.

To assign a number, text, bytes, list, array, Tensor, Graph or type makes an attribute of it. If a
name is repeated, its last attribute counts, and you get a RepeatedKeyWarning.)");
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
            return package::attribute_type()(model::Attribute(self.message()).type());
        },
        R"(The type as an AttributeType.

If the file does not store the type, it is the type of the value that is present.)");
    cls.def_property(
        "value", attribute_value, unguarded([](const Attribute& self, const py::object& value) {
            package::set_value()(ProtoView{self}, value);
        }),
        R"(The value, or None for a reference to an attribute of the function (`ref_attr_name`).

A value is a float, int, bytes, Tensor, Graph, SparseTensor or type, or a list of them. To assign one
sets the type as well; text and arrays may be assigned, too.)");
}

void bind_value_info(py::module_& module) {
    GuardedClass<ValueInfo> cls(module, "ValueInfo", "The name and type of a value.");
    bind_fields(cls, "ValueInfoProto", {"type"});
    bind_html_display(cls);
    cls.def_property(
        "dtype", value_dtype, unguarded([](const ValueInfo& self, const py::object& dtype) {
            package::set_dtype()(ProtoView{self}, dtype);
        }),
        "The element type of a tensor as a DataType, or None. A value without a type becomes a "
        "tensor.");
    cls.def_property("shape", value_shape,
                     unguarded([](const ValueInfo& self, const py::object& shape) {
                         package::set_shape()(ProtoView{self}, shape);
                     }),
                     R"(The dimensions of a tensor as a tuple, or None if the rank is unknown.

Each dimension is an int, a str (`dim_param`) or None (unknown).)");
    cls.def_property("type", value_type,
                     unguarded([](const ValueInfo& self, const py::object& type) {
                         package::set_type()(ProtoView{self}, type);
                     }),
                     "The type as a TensorType, SequenceType, MapType, ..., or None.");
}

void bind_function(py::module_& module) {
    GuardedClass<Function> cls(module, "Function", "A function that the model defines.");
    bind_fields(cls, "FunctionProto", {"opset_import", "attribute_proto"});
    bind_html_display(cls);
    bind_field(cls, "FunctionProto", "opset_import", "opset_imports",
               "The imported operator sets as a mapping of domains to versions.");
    bind_field(cls, "FunctionProto", "attribute_proto", "attribute_protos",
               "The attributes that have a default, as a mapping of names to Attribute.");
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
    module.def("hold_raw_data", hold_raw_data, py::arg("tensor"), py::arg("buffer"),
               "Set the raw_data of a TensorProto to the bytes of an object, which is not copied.");
    module.def(
        "hold_values", guarded(hold_values), py::arg("tensor"), py::arg("values"),
        "Set the raw_data of a TensorProto to the stored bytes of a Tensor, which are not "
        "copied. Return False if it has none in one place in memory, or in a file that is mapped.");
    module.def("loaded_raw_data", guarded(loaded_raw_data), py::arg("tensor"),
               "Return the offset and the length of the raw_data of a TensorProto in the file from "
               "which its model was loaded; None if it is empty, or was edited.");
    module.def("hold_loaded", guarded(hold_loaded), py::arg("tensor"), py::arg("offset"),
               py::arg("nbytes"),
               "Set the raw_data of a TensorProto to bytes of the file from which its model was "
               "loaded, which are not copied.");
    module.def(
        "document_of",
        [](const ProtoView& view) -> py::object {
            const onnx::Message message = view.message();
            if (!view.document->root().is(message)) return py::none();
            return py::cast(std::const_pointer_cast<model::Document>(view.document));
        },
        py::arg("view"), "Return the document that a view is the whole of, or None.");
    module.def("state_variables", guarded([](const ProtoView& view) {
                   py::list names;
                   for (const auto name : model::state_variables(*view.document, view.message())) {
                       names.append(to_str(name));
                   }
                   return names;
               }));
    module.def("sequence_values", guarded([](const ProtoView& view) {
                   const auto* field = model::sequence_field(view.message());
                   return field == nullptr ? py::list() : repeated_to_python(view, *field, true);
               }),
               py::arg("sequence"), "Return the messages that a SequenceProto holds.");
    module.def("optional_value", guarded([](const ProtoView& view) -> py::object {
                   auto value = model::optional_value(*view.document, view.message());
                   if (!value) return py::none();
                   return py::cast(ProtoView{{view.document, *std::move(value)}});
               }),
               py::arg("optional"), "Return the message that an OptionalProto holds, or None.");
    module.def("map_keys", guarded([](const ProtoView& view) {
                   const auto& field = model::keys_field(*view.document, view.message());
                   return repeated_to_python(view, field, true);
               }),
               py::arg("map"),
               "Return the keys of a MapProto, as many as it has values. Texts are bytes.");
    module.def(
        "new",
        [](const py::str& given, const py::kwargs& fields) {
            const std::string name = to_printable(given);
            const auto* const table = onnx::find_message(name);
            if (table == nullptr) {
                const bool is_short = onnx::find_message(name + "Proto") != nullptr;
                throw py::value_error("ONNX has no message type " + name +
                                      (is_short ? "; did you mean " + name + "Proto?" : ""));
            }
            Handle made = new_message(*table);
            set_fields(made, fields);
            return ProtoView{std::move(made)};
        },
        R"(Return a new message.

Args:
    message_type: the name of its type, such as "NodeProto".
    fields: values of its fields, by their names in onnx.proto. A repeated field takes an iterable,
        a message a dict or a message, which is copied; None leaves the field absent.

Raises:
    TypeError: a value has the wrong type.
    ValueError: ONNX has no such message type or no such field, or a number is out of range.

Example:
    >>> onnxmap.new("NodeProto", op_type="Relu", input=["x"], output=["y"]))",
        py::arg("message_type"), py::pos_only());
    module.def(
        "new_beside",
        [](const ProtoView& view, std::string_view name) {
            const auto& folder = view.document->store().external.folder();
            return ProtoView{new_message(*onnx::find_message(name), folder)};
        },
        py::arg("view"), py::arg("message_type"),
        "Return a new message whose external data are in the folder of those of a view.");
    module.def(
        "copy_into",
        [](const ProtoView& target, const py::object& message) {
            copy(target, original_for(target, target.made.table().name, message, true));
        },
        py::arg("target"), py::arg("message"),
        "Replace all fields of a message by those of another one. External tensors of an object of "
        "a model with another folder become inline ones, which refer to their files.");
    module.def("wrap", guarded([](const ProtoView& view) { return wrap_message(view); }),
               py::arg("view"),
               "Return the object of a message's class, or a ProtoView if its type has no class.");
    module.def(
        "set_friendly",
        [](const ProtoView& view, std::string_view name, const py::object& value) {
            set_friendly(view, row_named(view, name), value);
        },
        py::arg("view"), py::arg("name"), py::arg("value"),
        "Set a field: a list replaces all values, a mapping all entries, and a message or "
        "None the message.");
    module.def("friendly", guarded([](const ProtoView& view, std::string_view name) {
                   return friendly_value(view, row_named(view, name));
               }),
               "Return the value of a field in the form in which Node, Graph and the other "
               "classes give it.");
}

}  // namespace onnxmap::bindings
