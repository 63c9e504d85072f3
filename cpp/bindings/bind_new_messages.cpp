// Functions of the module that make messages, and that fill new ones.
#include <string>
#include <string_view>

#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/new_attributes.hpp"
#include "bindings/new_tensors.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/value_types.hpp"

namespace onnxmap::bindings {

void bind_new_messages(py::module_& module) {
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
            return ProtoView{new_message(message_named(name), folder)};
        },
        py::arg("view"), py::arg("message_type"),
        "Return a new message whose external data are in the folder of those of a view.");
    module.def(
        "copy_into",
        [](const ProtoView& target, const py::object& message) {
            const EditLock lock(target.document);
            copy(target, original_for(target, target.made.table().name, message, true));
        },
        py::arg("target"), py::arg("message"),
        "Replace all fields of a message by those of another one. External tensors of an object of "
        "a model with another folder become inline ones, which refer to their files.");
    module.def(
        "tensor_of",
        [](const py::object& values, bool copy) {
            const ArrayMemory memory = copy ? ArrayMemory::copied : ArrayMemory::held;
            return ProtoView{tensor_of(values, memory)};
        },
        py::arg("values"), py::arg("copy"),
        R"(Return a new TensorProto with values that an initializer may be set to.

Args:
    copy: copy an array. Otherwise, the tensor refers to its memory if it is large.

Raises:
    TypeError: ONNX has no type for the elements.)");
    module.def(
        "new_attribute",
        [](const py::object& name, const py::object& value, std::int32_t type) {
            return ProtoView{new_attribute(name, value, type)};
        },
        py::arg("name"), py::arg("value"), py::arg("type"),
        "Return a new AttributeProto; see make_attribute(). `type`: an AttributeType, or 0.");
    module.def("type_message", type_message, py::arg("type"),
               "Return the TypeProto of one of onnxmap.types; anything else as it is.");
    module.def("stored_bytes", stored_bytes, py::arg("array"), py::arg("bits"),
               "Return the raw_data of an array's elements as an array of bytes: a view of the "
               "array if it has that layout.");
}

}  // namespace onnxmap::bindings
