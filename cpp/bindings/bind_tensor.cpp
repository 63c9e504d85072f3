// The properties of Tensor.
#include <pybind11/stl.h>

#include <optional>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/message_class.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/tensor_access.hpp"
#include "model/tensor.hpp"

namespace onnxmap::bindings {

namespace {

std::optional<tensor::Values> values_if_valid(const Tensor& tensor) {
    const model::Tensor core = core_of(tensor);
    return without_lock_if(opens_or_searches(core), [&] { return core.values_if_valid(); });
}

bool is_view(const Tensor& tensor) {
    const auto values = values_if_valid(tensor);
    return values && values->is_view();
}

bool is_aligned_view(const Tensor& tensor) {
    const auto values = values_if_valid(tensor);
    return values && values->is_view() && is_aligned(values->type(), values->payload()->bytes());
}

py::tuple shape(const Tensor& tensor) {
    const model::Tensor core = core_of(tensor);
    static_cast<void>(core.count());  // throws if no array can have the shape
    return to_tuple(core.header().dims());
}

py::object dtype(const Tensor& tensor) {
    const model::Tensor core = core_of(tensor);
    core.check_type();
    return data_type_or_int(core.header().data_type);
}

std::uint64_t size(const Tensor& tensor) { return core_of(tensor).count(); }

// Returns ask(tensor), which uses no Python object. It opens no file, but it may search for
// segments.
template <class Ask>
auto place_of(const Tensor& tensor, Ask&& ask) {
    const model::Tensor core = core_of(tensor);
    return without_lock_if(core.header().has_segment, [&] { return ask(core); });
}

std::uint64_t values_nbytes(const Tensor& tensor) {
    return place_of(tensor, [](const model::Tensor& core) { return core.stored_nbytes(); });
}

py::object external(const Tensor& tensor) {
    const auto entry = place_of(tensor, [](const model::Tensor& core) { return core.external(); });
    if (!entry) return py::none();
    py::object checksum = py::none();
    if (entry->checksum) checksum = to_str(*entry->checksum);
    return py::make_tuple(to_str(entry->location), entry->offset, entry->length, checksum);
}

py::object file(const Tensor& tensor) {
    return to_str_or_none(
        place_of(tensor, [](const model::Tensor& core) { return core.file(); }).value_or(""));
}

std::optional<std::uint64_t> offset(const Tensor& tensor) {
    return place_of(tensor, [](const model::Tensor& core) { return core.offset(); });
}

void bind_facts(GuardedClass<Tensor>& cls) {
    bind_field(cls, "TensorProto", "doc_string", "doc_string", "The documentation in Markdown.");
    bind_field(cls, "TensorProto", "metadata_props", "metadata_props",
               "The metadata as a mapping of names to values.");
    cls.def_property_readonly(
           "segment",
           [](const Tensor& self) { return property_value(self, row_named(self, "segment")); },
           R"(If this is a piece of a larger tensor, its `begin` and `end` in that tensor; otherwise None.

Pieces of one name are read as one tensor.)")
        .def_property_readonly(
            "name", [](const Tensor& self) { return to_str(core_of(self).header().name); },
            "The name, or an empty string.")
        .def_property_readonly("dtype", dtype,
                               "The element type as a DataType. Raises TensorError `tensor.dtype`.")
        .def_property_readonly("shape", shape,
                               "The dimensions as a tuple of int. Raises TensorError.")
        .def_property_readonly(
            "ndim", [](const Tensor& self) { return core_of(self).header().rank; },
            "The number of dimensions.")
        .def_property_readonly("size", size, "The number of elements. Raises TensorError.")
        .def_property_readonly("nbytes", values_nbytes,
                               "The number of bytes of the values, as stored.")
        .def_property_readonly(
            "is_external", [](const Tensor& self) { return core_of(self).header().external; },
            "Whether the values are in another file.")
        .def_property_readonly("_external", external,
                               "The arguments of `types.ExternalData`, or None.")
        .def_property_readonly("file", file, "The path of the file that holds the values, or None.")
        .def_property_readonly("offset", offset,
                               "The offset of the values in `file`, in bytes, or None.")
        .def_property_readonly("is_view", is_view, "Whether numpy() returns a view.")
        .def_property_readonly("is_aligned", is_aligned_view,
                               "Whether numpy() returns a view that is aligned for its type.");
}

}  // namespace

void bind_tensor(py::module_& module) {
    auto cls = message_class<Tensor>(
        module, "TensorProto",
        "A tensor of a model. The tensor and its arrays keep the model's bytes alive.");
    bind_facts(cls);
    bind_tensor_values(cls);
    bind_histogram(cls);
    bind_tensor_buffer(cls);
    bind_tensor_exchange(cls);
}

}  // namespace onnxmap::bindings
