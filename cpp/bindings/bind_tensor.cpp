// Tensor and SparseTensor: what they say about themselves.
#include <string>

#include "base/error.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/proto_fields.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/same_message.hpp"
#include "bindings/tensor_access.hpp"
#include "model/sparse_tensor.hpp"
#include "model/tensor_place.hpp"

namespace onnxmap::bindings {

namespace {

// What numpy() would look at, or nothing: then reading it says what is wrong.
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

// What `ask` says of the place of the values. No Python object is touched meanwhile.
template <class Ask>
auto place_of(const Tensor& tensor, Ask&& ask) {
    return naming(tensor, [&] {
        const model::TensorPlace place(*tensor.document, tensor.message);
        if (!place.header().has_segment) return ask(place);
        const WithoutLock unlocked;  // the first segment that is read looks for all
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
    bind_field(cls, "TensorProto", "doc_string", "Documentation in Markdown.");
    bind_field(cls, "TensorProto", "metadata_props", "Read-only mapping of names to values.");
    cls.def_property_readonly(
           "name", [](const Tensor& self) { return to_str(header_of(self).name); },
           "Name, or an empty string.")
        .def_property_readonly("dtype", dtype, "DataType. Raises TensorError `tensor.dtype`.")
        .def_property_readonly("shape", shape, "Tuple of int. Raises TensorError.")
        .def_property_readonly(
            "ndim", [](const Tensor& self) { return header_of(self).rank; },
            "Number of dimensions.")
        .def_property_readonly("size", size, "Number of elements. Raises TensorError.")
        .def_property_readonly("nbytes", values_nbytes,
                               "Bytes that the values take as they are stored.")
        .def_property_readonly(
            "is_external", [](const Tensor& self) { return header_of(self).external; },
            "Whether the values are in another file.")
        .def_property_readonly("external", external,
                               "Location, offset, length and checksum as the model has them.")
        .def_property_readonly("file", file, "Path of the file that holds the bytes, or None.")
        .def_property_readonly("offset", offset,
                               "Position of the bytes in that file in bytes, or None.")
        .def_property_readonly("is_view", is_view, "Whether numpy() gives a view.")
        .def_property_readonly("is_aligned", is_aligned_view,
                               "Whether that view is aligned for its type.")
        .def_property_readonly(
            "proto", [](const Tensor& self) { return ProtoView{self}; },
            "The source message under the exact names of onnx.proto.")
        .def(
            "verify", unguarded([](const py::object& self) -> py::object {
                return package::verify_tensor()(self);
            }),
            "Compares the external file with the SHA-1 that the model declares for it, reading all "
            "of it. True where they agree, False where none is declared.\n\n"
            "Raises:\n    ChecksumError: they differ.\n"
            "    ExternalDataError: what is declared is no SHA-1; the file cannot be opened.\n"
            "    FileChangedError: the file is not the one any more that was opened.\n\n"
            "Source: onnx.proto, TensorProto.external_data.");
}

template <class Class>
void bind_display(GuardedClass<Class>& cls) {
    cls.def("__repr__", unguarded([](const py::object& self) { return package::describe()(self); }))
        .def("_repr_html_",
             unguarded([](const py::object& self) { return package::describe_html()(self); }));
    bind_equality(cls);
}

model::SparseTensor core_of(const SparseTensor& self) { return {*self.document, self.message}; }

Tensor sparse_values(const SparseTensor& self) { return {{self.document, core_of(self).values()}}; }

void bind_sparse(py::module_& module) {
    GuardedClass<SparseTensor> cls(module, "SparseTensor", "Values and where they stand.");
    cls.def_property_readonly(
           "name", [](const SparseTensor& self) { return to_str(core_of(self).name()); },
           "Name of its values, which is the sparse tensor's.")
        .def_property_readonly(
            "dtype", [](const SparseTensor& self) { return dtype(sparse_values(self)); },
            "DataType of the values.")
        .def_property_readonly(
            "shape", [](const SparseTensor& self) { return to_tuple(core_of(self).dims()); },
            "Shape of the dense tensor.")
        .def_property_readonly("values", sparse_values, "Tensor of shape [nnz].")
        .def_property_readonly(
            "indices",
            [](const SparseTensor& self) {
                return Tensor{{self.document, core_of(self).indices()}};
            },
            "Tensor of shape [nnz] (linear) or [nnz, rank].")
        .def_property_readonly(
            "nnz", [](const SparseTensor& self) { return size(sparse_values(self)); },
            "Number of stored values.")
        .def_property_readonly(
            "proto", [](const SparseTensor& self) { return ProtoView{self}; },
            "The source message under the exact names of onnx.proto.")
        .def(
            "to_dense",
            unguarded([](const py::object& self, const py::object& max_bytes) -> py::object {
                return package::to_dense()(self, max_bytes);
            }),
            py::kw_only(), py::arg("max_bytes") = py::none(),
            "The dense tensor as a fresh, writable array: zeros (empty strings for STRING) but for "
            "the values.\n\n"
            "Args:\n    max_bytes: how large it may become; by default `Limits(dense_bytes=...)` "
            "of "
            "the load.\n\n"
            "Raises:\n    LimitError: `limit.dense_bytes`: it would be larger.\n"
            "    TensorError: `tensor.sparse_*`: values, indices and shape do not agree.")
        .def("to_scipy", unguarded([](const py::object& self) -> py::object {
                 return package::to_scipy()(self);
             }),
             "The same as a `scipy.sparse.coo_array`; its indices are copied, its values where "
             "they must be.\n\nRaises:\n    TensorError: as `to_dense`.\n"
             "    ValueError: SciPy has no arrays of this type or number of dimensions.")
        .def_property_readonly("_path",
                               [](const SparseTensor& self) {
                                   return to_str(model::sparse_tensor_path(
                                       *self.document, self.message.piece(0).data()));
                               })
        .def_property_readonly("_dense_bytes", [](const SparseTensor& self) {
            return self.document->limits().dense_bytes;
        });
    bind_display(cls);
}

}  // namespace

void bind_tensor(py::module_& module) {
    GuardedClass<Tensor> cls(module, "Tensor", py::buffer_protocol(),
                             "A tensor of a model. Holds the model's bytes; its arrays do, too.");
    bind_facts(cls);
    bind_tensor_values(cls);
    bind_tensor_exchange(cls);
    bind_display(cls);
    bind_sparse(module);
}

}  // namespace onnxmap::bindings
