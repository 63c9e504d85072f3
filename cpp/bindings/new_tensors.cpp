#include "bindings/new_tensors.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/editing.hpp"
#include "bindings/field_encoding.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/tensor_access.hpp"
#include "kernels/kernel_set.hpp"
#include "model/edit_tensor.hpp"

namespace onnxmap::bindings {

namespace {

constexpr const char* kTensorProto = "TensorProto";

Handle empty_tensor() { return new_message(*onnx::find_message(kTensorProto)); }

Handle new_tensor(const py::object& data_type, const py::object& dims) {
    Handle made = empty_tensor();
    set_fields(made, py::dict(py::arg("data_type") = data_type, py::arg("dims") = dims));
    return made;
}

Handle without_notes(const Handle& message) {
    Handle made = empty_tensor();
    copy(made, message);
    edit::change_message(made, model::clear_notes);
    return made;
}

Handle copy_of(const Tensor& tensor, ArrayMemory memory) {
    const bool is_elsewhere = below_guard(tensor, [&] {
        const model::Tensor core = core_of(tensor);
        return core.header().external || core.header().has_segment;
    });
    if (!is_elsewhere) return without_notes(tensor);
    const py::object object = py::cast(tensor);
    Handle made = new_tensor(object.attr("dtype"), object.attr("shape"));
    const auto hold = guarded([&](const Tensor& values) { return hold_values(made, values); });
    return hold(tensor) ? made : tensor_of(object.attr("numpy")(), memory);
}

// The bytes of strings in an array, which may hold bytes that are not UTF-8 as surrogates. Nothing
// if it has other elements.
std::optional<py::list> string_bytes(const py::object& array) {
    py::list found;
    for (const py::handle each : array.attr("ravel")().attr("tolist")()) {
        if (py::isinstance<py::str>(each)) {
            found.append(py::bytes(to_text(py::reinterpret_borrow<py::str>(each))));
        } else if (py::isinstance<py::bytes>(each)) {
            found.append(each);
        } else {
            return std::nullopt;
        }
    }
    return found;
}

Handle tensor_of_array(const py::object& array, const py::object& given, ArrayMemory memory) {
    const py::object dtype = array.attr("dtype");
    const auto kind = dtype.attr("kind").cast<std::string>();
    if (kind == "S" || kind == "U" || kind == "T" || kind == "O") {
        if (const auto strings = string_bytes(array)) {
            Handle made = new_tensor(enum_class("DataType")("STRING"), array.attr("shape"));
            set_fields(made, py::dict(py::arg("string_data") = *strings));
            return made;
        }
        const bool is_given = given.is(array);
        throw py::type_error(
            "expected an array, numbers, strings, a Tensor, a TensorProto or a torch tensor, not " +
            (is_given ? "an array of other objects" : type_name(given)));
    }
    const onnx::DataTypeInfo* const type = find_type(dtype.attr("newbyteorder")("="));
    if (type == nullptr) {
        throw py::type_error("ONNX has no element type for " + to_printable(py::str(dtype)));
    }
    Handle made = new_tensor(py::int_(static_cast<int>(type->type)), array.attr("shape"));
    py::object bytes = stored_bytes(array, type->bits);
    if (memory == ArrayMemory::copied) bytes = bytes.attr("tobytes")();
    hold_raw_data(made, bytes);
    return made;
}

bool is_of_torch(const py::object& object) {
    const auto module = py::str(py::type::of(object).attr("__module__")).cast<std::string>();
    return module == "torch" || module.starts_with("torch.");
}

// The memory of a torch tensor itself, if that has the layout of `raw_data`.
Handle tensor_of_torch(const py::object& tensor) {
    const std::string name = py::str(tensor.attr("dtype")).cast<std::string>();
    py::list shape(tensor.attr("shape"));
    std::string element = name.substr(name.find('.') + 1);
    // As float4_e2m1fn_x2: torch counts pairs of elements.
    if (element.ends_with("_x2") && !shape.empty()) {
        element.resize(element.size() - 3);
        shape.append(shape.attr("pop")() * py::int_(2));
    }
    py::object type;
    try {
        type = enum_class("DataType")(element);
    } catch (py::error_already_set& error) {
        if (!error.matches(PyExc_ValueError)) throw;
        throw py::type_error("ONNX has no element type for " + name);
    }
    py::object flat = tensor;
    for (const char* const step : {"detach", "cpu", "resolve_conj", "resolve_neg", "contiguous"}) {
        flat = flat.attr(step)();
    }
    const py::object bytes = py::module_::import("torch").attr("uint8");
    flat = flat.attr("reshape")(-1).attr("view")(bytes).attr("numpy")();
    Handle made = new_tensor(type, shape);
    hold_raw_data(made, flat);
    return made;
}

}  // namespace

Handle tensor_of(const py::object& values, ArrayMemory memory) {
    if (is_a<Tensor>(values)) return copy_of(cpp_value<Tensor>(values), memory);
    if (const auto message = find_message(kTensorProto, values)) {
        return is_bound(values) ? copy_of(Tensor{*message}, memory) : without_notes(*message);
    }
    if (is_of_torch(values)) return tensor_of_torch(values);
    return tensor_of_array(python_object<"numpy", "asarray">()(values), values, memory);
}

bool is_tensor_message(const py::object& values) {
    // Not find_message(), which would serialize a message of protobuf.
    return is_a<Tensor>(values) || is_bound(values) || py::hasattr(values, "SerializeToString");
}

py::object stored_bytes(const py::object& array, unsigned bits) {
    const py::object dtype = array.attr("dtype");
    const auto& contiguous = python_object<"numpy", "ascontiguousarray">();
    const py::object& byte = python_object<"numpy", "uint8">();
    const py::object little =
        array.attr("astype")(dtype.attr("newbyteorder")("<"), py::arg("copy") = false);
    const py::object bytes = contiguous(little).attr("reshape")(-1).attr("view")(byte);
    if (bits >= 8 || dtype.attr("itemsize").cast<unsigned>() != 1) return bytes;
    const py::buffer_info codes = py::buffer(bytes).request();
    const auto count = static_cast<std::uint64_t>(codes.size);
    const py::object packed = python_object<"numpy", "empty">()((count * bits + 7) / 8, byte);
    const py::buffer_info to = py::buffer(packed).request(true);
    kernels::pack(bits, static_cast<const std::uint8_t*>(codes.ptr), count,
                  static_cast<std::uint8_t*>(to.ptr));
    return packed;
}

void hold_raw_data(const Handle& tensor, const py::object& buffer) {
    const model::NewValue held = hold(buffer);
    edit::change_message(tensor, model::set_raw_data, held);
}

bool hold_values(const Handle& tensor, const Tensor& values) {
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

}  // namespace onnxmap::bindings
