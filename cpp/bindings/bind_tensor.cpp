// Tensor and SparseTensor: what they say about themselves.
#include <string>

#include "base/error.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/same_message.hpp"
#include "bindings/tensor_access.hpp"

namespace onnxmap::bindings {

using onnx::field;

namespace {

tensor::ExternalEntry entry_of(const Tensor& tensor, const tensor::Header& header) {
    return tensor::read_external_entry(tensor.message, header.name,
                                       tensor.document->store().max_external_entries);
}

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

std::uint64_t values_nbytes(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    const auto values = header.has_segment ? values_if_good(tensor) : std::nullopt;
    return values ? values->stored_nbytes() : tensor::stored_nbytes(tensor.message, header);
}

py::object external(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    if (!header.external) return py::none();
    const tensor::ExternalEntry entry = naming(tensor, [&] { return entry_of(tensor, header); });
    py::object length = py::none();
    if (entry.length) length = py::int_(*entry.length);
    py::object checksum = py::none();
    if (entry.checksum) checksum = to_str(*entry.checksum);
    return package::external_data()(to_str(entry.location), entry.offset, length, checksum);
}

// Bytes of the tensor in the model's own file, where they are in one piece.
std::optional<ByteView> bytes_in_model(const Tensor& tensor, const tensor::Header& header) {
    if (tensor.document->source().path().empty()) return std::nullopt;
    if (header.raw_data) return header.raw_data;
    const onnx::DataTypeInfo* type = onnx::find_data_type(header.data_type);
    if (type == nullptr) return std::nullopt;
    return tensor::single_run(tensor.message, *type->storage);
}

// Several places, none of which is the tensor's.
bool in_pieces(const Tensor& tensor, const tensor::Header& header) {
    const auto values = header.has_segment ? values_if_good(tensor) : std::nullopt;
    return values && values->in_pieces();
}

py::object file(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    if (in_pieces(tensor, header)) return py::none();
    if (header.external) {
        const std::string path = naming(tensor, [&] {
            return tensor.document->store().external.path_of(entry_of(tensor, header).location,
                                                             header.name);
        });
        return path.empty() ? py::object(py::none()) : to_str(path);
    }
    if (!bytes_in_model(tensor, header)) return py::none();
    return to_str(tensor.document->source().path());
}

py::object offset(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    if (in_pieces(tensor, header)) return py::none();
    if (header.external) {
        return py::int_(naming(tensor, [&] { return entry_of(tensor, header).offset; }));
    }
    const auto bytes = bytes_in_model(tensor, header);
    if (!bytes) return py::none();
    return py::int_(tensor.document->source().offset_of(*bytes));
}

py::str text_field(const Tensor& tensor, const wire::FieldRow& row) {
    return to_str(tensor.message.text(row));
}

void bind_facts(GuardedClass<Tensor>& cls) {
    cls.def_property_readonly(
           "name", [](const Tensor& self) { return text_field(self, field<"TensorProto.name">); },
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
            "doc_string",
            [](const Tensor& self) { return text_field(self, field<"TensorProto.doc_string">); },
            "Documentation in Markdown.")
        .def_property_readonly(
            "metadata_props",
            [](const Tensor& self) {
                return read_only(string_map(self, field<"TensorProto.metadata_props">));
            },
            "Read-only mapping of names to values.")
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

py::object sparse_part(const SparseTensor& sparse, const wire::FieldRow& row) {
    const auto part = sparse.document->child(sparse.message, row);
    return py::cast(Tensor{
        {sparse.document, part.value_or(onnx::Message(onnx::message<"TensorProto">, ByteView{}))}});
}

// As an object: an accessor would be evaluated when what it reads from is gone.
py::object sparse_fact(const SparseTensor& sparse, const char* name) {
    return sparse_part(sparse, field<"SparseTensorProto.values">).attr(name);
}

void bind_sparse(py::module_& module) {
    GuardedClass<SparseTensor> cls(module, "SparseTensor", "Values and where they stand.");
    cls.def_property_readonly(
           "name", [](const SparseTensor& self) { return sparse_fact(self, "name"); },
           "Name of its values, which is the sparse tensor's.")
        .def_property_readonly(
            "dtype", [](const SparseTensor& self) { return sparse_fact(self, "dtype"); },
            "DataType of the values.")
        .def_property_readonly(
            "shape",
            [](const SparseTensor& self) {
                std::uint64_t rank = 0;
                self.message.for_each_value(field<"SparseTensorProto.dims">,
                                            [&](const wire::Field&) { ++rank; });
                if (rank > tensor::kMaxRank) {
                    Error error("tensor.rank", "it has " + std::to_string(rank) +
                                                   " dimensions, and NumPy takes 64 at most");
                    error.tensor = to_text(sparse_fact(self, "name"));
                    if (error.tensor.empty()) {
                        error.tensor =
                            model::sparse_tensor_path(*self.document, self.message.piece(0).data());
                    }
                    throw error;
                }
                return py::tuple(repeated_to_python(self, field<"SparseTensorProto.dims">, false));
            },
            "Shape of the dense tensor.")
        .def_property_readonly(
            "values",
            [](const SparseTensor& self) {
                return sparse_part(self, field<"SparseTensorProto.values">);
            },
            "Tensor of shape [nnz].")
        .def_property_readonly(
            "indices",
            [](const SparseTensor& self) {
                return sparse_part(self, field<"SparseTensorProto.indices">);
            },
            "Tensor of shape [nnz] (linear) or [nnz, rank].")
        .def_property_readonly(
            "nnz", [](const SparseTensor& self) { return sparse_fact(self, "size"); },
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
