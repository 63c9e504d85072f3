// Functions of the module for values that are in messages: weights that a message refers to, and
// the values of onnx-data.proto.
#include "bindings/bind.hpp"
#include "bindings/editing.hpp"
#include "bindings/field_encoding.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/tensor_access.hpp"
#include "kernels/kernel_set.hpp"
#include "model/edit_tensor.hpp"
#include "model/onnx_data.hpp"

namespace onnxmap::bindings {

namespace {

py::object loaded_raw_data(const ProtoView& tensor) {
    const auto bytes = model::loaded_raw_data(*tensor.document, tensor.message());
    if (!bytes) return py::none();
    return py::make_tuple(tensor.document->source().offset_of(*bytes), bytes->size());
}

void hold_loaded(const ProtoView& tensor, std::uint64_t offset, std::uint64_t nbytes) {
    model::set_loaded_raw_data(*tensor.document, to_change(tensor), offset, nbytes);
}

Handle as_tensor(const ProtoView& view) { return message_for("TensorProto", py::cast(view)); }

void hold_raw_data(const ProtoView& view, const py::object& buffer) {
    edit::change_message(as_tensor(view), model::set_raw_data, hold(buffer));
}

bool hold_values(const ProtoView& view, const Tensor& values) {
    const Handle tensor = as_tensor(view);
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

void pack(const py::object& codes, unsigned bits, const py::object& packed) {
    const py::buffer_info from = py::buffer(codes).request();
    const py::buffer_info to = py::buffer(packed).request(true);
    const auto is_run = [](const py::buffer_info& bytes) {
        return bytes.ndim == 1 && bytes.itemsize == 1 && bytes.strides[0] == 1;
    };
    const auto count = static_cast<std::uint64_t>(from.size);
    if (!is_run(from) || !is_run(to) || bits == 0 || bits > 8 ||
        static_cast<std::uint64_t>(to.size) < tensor::packed_nbytes(count, bits)) {
        throw py::value_error("expected bytes in a row, 1 to 8 bits, and room for what they make");
    }
    kernels::pack(bits, static_cast<const std::uint8_t*>(from.ptr), count,
                  static_cast<std::uint8_t*>(to.ptr));
}

}  // namespace

void bind_message_values(py::module_& module) {
    module.def("pack", pack, py::arg("codes"), py::arg("bits"), py::arg("packed"),
               "Pack the low bits of bytes, as ONNX packs its types of less than 8 bits.");
    module.def(
        "hold_raw_data", guarded_edits(hold_raw_data), py::arg("tensor"), py::arg("buffer"),
        "Set the raw_data of a TensorProto to the bytes of a buffer, which are not copied if "
        "they are many.");
    module.def(
        "hold_values", guarded_edits(hold_values), py::arg("tensor"), py::arg("values"),
        "Set the raw_data of a TensorProto to the stored bytes of a Tensor, which are not "
        "copied. Return False if it has none in one place in memory, or in a file that is mapped.");
    module.def("loaded_raw_data", guarded(loaded_raw_data), py::arg("tensor"),
               "Return the offset and the length of the raw_data of a TensorProto in the file from "
               "which its model was loaded; None if it is empty, or was edited.");
    module.def("hold_loaded", guarded_edits(hold_loaded), py::arg("tensor"), py::arg("offset"),
               py::arg("nbytes"),
               "Set the raw_data of a TensorProto to bytes of the file from which its model was "
               "loaded, which are not copied.");
    module.def("state_variables", guarded([](const ProtoView& view) {
                   const std::string type(view.made.table().name);
                   if (type != "ModelProto") throw py::type_error("a " + type + " is no model");
                   return to_list(model::state_variables(*view.document, view.message()));
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
}

}  // namespace onnxmap::bindings
