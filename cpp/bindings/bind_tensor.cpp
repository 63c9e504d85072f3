// The properties of Tensor.
#include <string>

#include "base/error.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/display.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/tensor_access.hpp"
#include "model/tensor_place.hpp"

namespace onnxmap::bindings {

namespace {

// The values that numpy() would use, or nothing if they are not valid: reading them reports the
// fault.
std::optional<tensor::Values> values_if_good(const Tensor& tensor) {
    const tensor::OverlookQuietly quietly;
    try {
        return values_of(tensor);
    } catch (const Error&) {
        return std::nullopt;
    }
}

bool is_view(const Tensor& tensor) {
    const auto values = values_if_good(tensor);
    return values && values->is_view();
}

bool is_aligned_view(const Tensor& tensor) {
    const auto values = values_if_good(tensor);
    return values && values->is_view() && is_aligned(values->type(), values->payload()->bytes());
}

py::tuple shape(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    naming(tensor, [&] { static_cast<void>(tensor::element_count(header)); });
    return to_tuple(header.dims());
}

py::object dtype(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    if (header.data_type != 0) {
        naming(tensor, [&] { static_cast<void>(tensor::element_type(header)); });
    }
    return data_type_or_int(header.data_type);
}

std::uint64_t size(const Tensor& tensor) {
    return naming(tensor, [&] { return tensor::element_count(header_of(tensor)); });
}

// Returns ask(place). No Python object is used meanwhile.
template <class Ask>
auto place_of(const Tensor& tensor, Ask&& ask) {
    return naming(tensor, [&] {
        const model::TensorPlace place(*tensor.document, tensor.message);
        if (!place.header().has_segment) return ask(place);
        const WithoutLock unlocked;  // the first segment that is read finds all segments
        return ask(place);
    });
}

std::uint64_t values_nbytes(const Tensor& tensor) {
    return place_of(tensor, [](const auto& place) { return place.stored_nbytes(); });
}

py::object external(const Tensor& tensor) {
    const auto entry = place_of(tensor, [](const auto& place) { return place.external(); });
    if (!entry) return py::none();
    py::object length = py::none();
    if (entry->length) length = py::int_(*entry->length);
    py::object checksum = py::none();
    if (entry->checksum) checksum = to_str(*entry->checksum);
    return package::external_data()(to_str(entry->location), entry->offset, length, checksum);
}

py::object file(const Tensor& tensor) {
    const auto path = place_of(tensor, [](const auto& place) { return place.file(); });
    return path ? py::object(to_str(*path)) : py::none();
}

py::object offset(const Tensor& tensor) {
    const auto found = place_of(tensor, [](const auto& place) { return place.offset(); });
    return found ? py::object(py::int_(*found)) : py::none();
}

void bind_facts(GuardedClass<Tensor>& cls) {
    bind_field(cls, "TensorProto", "doc_string", "The documentation in Markdown.");
    bind_field(cls, "TensorProto", "metadata_props",
               "The metadata as a read-only mapping of names to values.");
    cls.def_property_readonly(
           "name", [](const Tensor& self) { return to_str(header_of(self).name); },
           "The name, or an empty string.")
        .def_property_readonly("dtype", dtype,
                               "The element type as a DataType. Raises TensorError `tensor.dtype`.")
        .def_property_readonly("shape", shape,
                               "The dimensions as a tuple of int. Raises TensorError.")
        .def_property_readonly(
            "ndim", [](const Tensor& self) { return header_of(self).rank; },
            "The number of dimensions.")
        .def_property_readonly("size", size, "The number of elements. Raises TensorError.")
        .def_property_readonly("nbytes", values_nbytes,
                               "The number of bytes of the values, as stored.")
        .def_property_readonly(
            "is_external", [](const Tensor& self) { return header_of(self).external; },
            "Whether the values are in another file.")
        .def_property_readonly(
            "external", external,
            "The location, offset, length and checksum that the model gives, or None.")
        .def_property_readonly("file", file, "The path of the file that holds the values, or None.")
        .def_property_readonly("offset", offset,
                               "The offset of the values in that file in bytes, or None.")
        .def_property_readonly("is_view", is_view, "Whether numpy() returns a view.")
        .def_property_readonly("is_aligned", is_aligned_view,
                               "Whether numpy() returns a view that is aligned for its type.")
        .def_property_readonly(
            "proto", [](const Tensor& self) { return ProtoView{self}; },
            "The source message under the exact names of onnx.proto.")
        .def("verify", unguarded([](const py::object& self) -> py::object {
                 return package::verify_tensor()(self);
             }),
             R"(Return whether a SHA-1 is declared, after comparing the file with it.

Reads the whole external file, or nothing if the model declares no checksum for it.

Raises:
    ChecksumError: the file and the checksum differ.
    ExternalDataError: the declared checksum is not a SHA-1, or the file cannot be opened.
    FileChangedError: the file has changed since it was opened.

Source: onnx.proto, TensorProto.external_data.)");
}

}  // namespace

void bind_tensor(py::module_& module) {
    GuardedClass<Tensor> cls(
        module, "Tensor", py::buffer_protocol(),
        "A tensor of a model. The tensor and its arrays keep the model's bytes alive.");
    bind_facts(cls);
    bind_tensor_values(cls);
    bind_tensor_exchange(cls);
    bind_html_display(cls);
}

}  // namespace onnxmap::bindings
