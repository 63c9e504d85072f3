// Functions of the module that make messages, and that fill new ones.
#include <string>
#include <string_view>

#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/python_objects.hpp"

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
        [](const ProtoView& view, std::string_view name, const py::kwargs& fields) {
            const auto& folder = view.document->store().external.folder();
            Handle made = new_message(message_named(name), folder);
            set_fields(made, fields);
            return ProtoView{std::move(made)};
        },
        py::arg("view"), py::arg("message_type"), py::pos_only(),
        "Return a new message whose external data are in the folder of those of a view.");
    module.def(
        "find_message",
        [](std::string_view name, const py::object& object) {
            auto found = find_message(name, object);
            return found ? make_object<ProtoView>(*std::move(found)) : py::none();
        },
        py::arg("message_type"), py::arg("object"),
        "Return the message that an object of any library is or has; None if it is no such one.");
    module.def(
        "copy_into", guarded(edits([](const ProtoView& target, const py::object& message) {
            copy(target, original_for(target, target.made.table().name, message, true));
        })),
        py::arg("target"), py::arg("message"),
        "Replace all fields of a message by those of another one. External tensors of an object of "
        "a model with another folder become inline ones, which refer to their files.");
}

}  // namespace onnxmap::bindings
