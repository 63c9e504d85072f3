// Tensor and SparseTensor.
#include <string>

#include "base/error.hpp"
#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/python_objects.hpp"
#include "tensor/header.hpp"
#include "tensor/payload.hpp"

namespace onnxmap::bindings {

using onnx::field;

namespace {

tensor::Header header_of(const Tensor& tensor) {
    tensor::Header header;
    tensor::read_header(tensor.message, header);
    return header;
}

tensor::Payload payload_of(const Tensor& tensor) {
    return tensor::find_payload(tensor.message, header_of(tensor), tensor.document->store());
}

tensor::ExternalEntry entry_of(const Tensor& tensor, const tensor::Header& header) {
    return tensor::read_external_entry(tensor.message, header.name,
                                       tensor.document->store().max_external_entries);
}

py::object as_array(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    const tensor::Store& store = tensor.document->store();
    if (!tensor::stored_raw(header)) return decode_array(tensor.message, header, store);
    const tensor::Payload payload = tensor::find_payload(tensor.message, header, store);
    return make_array(tensor::element_type(header), header, payload, make_owner(payload.source));
}

bool is_view(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    const onnx::DataTypeInfo* type = onnx::find_data_type(header.data_type);
    if (type == nullptr || !type->fixed_width() || !tensor::stored_raw(header)) return false;
    try {
        return payload_of(tensor).is_view();
    } catch (const Error&) {  // numpy() says what is wrong
        return false;
    }
}

py::object numpy(const Tensor& tensor, const py::object& copy) {
    if (copy.is_none() || !copy.cast<bool>()) {
        if (!copy.is_none() && !is_view(tensor)) {
            throw py::value_error("copy=False, but the values cannot be looked at in place");
        }
        return as_array(tensor);
    }
    return as_array(tensor).attr("copy")();
}

py::object array_protocol(const Tensor& tensor, const py::object& dtype, const py::object& copy) {
    const py::object array = numpy(tensor, copy);
    if (dtype.is_none() || py::object(array.attr("dtype")).equal(dtype)) return array;
    if (!copy.is_none() && !copy.cast<bool>()) {
        throw py::value_error("copy=False, but another dtype needs a copy");
    }
    return array.attr("astype")(dtype);
}

py::tuple shape(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    static_cast<void>(tensor::element_count(header));
    py::tuple dims(header.dims().size());
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = py::int_(header.dims()[i]);
    return dims;
}

py::object dtype(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    if (header.data_type != 0) static_cast<void>(tensor::element_type(header));
    return data_type_or_int(header.data_type);
}

// Stored bytes that are in memory: where they are, or for a source that is read, read now.
ByteView resident_bytes(const Tensor& tensor) {
    const tensor::Payload payload = payload_of(tensor);
    return payload.source->resident(payload.bytes);
}

py::bytes tobytes(const Tensor& tensor) {
    if (!tensor::stored_raw(header_of(tensor))) return as_array(tensor).attr("tobytes")();
    const tensor::Payload payload = payload_of(tensor);
    if (payload.is_view()) return to_bytes(payload.bytes);
    PyObject* bytes =
        PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(payload.bytes.size()));
    if (bytes == nullptr) throw py::error_already_set();
    auto result = py::reinterpret_steal<py::bytes>(bytes);
    auto* out = reinterpret_cast<std::uint8_t*>(PyBytes_AS_STRING(bytes));
    const py::gil_scoped_release release;
    payload.source->read(payload.offset, {out, payload.bytes.size()});
    return result;
}

py::object stored_view(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    if (!tensor::stored_raw(header) || !payload_of(tensor).is_view()) return py::none();
    const tensor::Payload payload = payload_of(tensor);
    return make_bytes_view(payload, make_owner(payload.source));
}

py::object unread(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    const onnx::DataTypeInfo& type = tensor::element_type(header);
    if (!type.fixed_width() || !tensor::stored_raw(header)) return py::none();
    const tensor::Payload payload = payload_of(tensor);
    return make_view(type, header, payload, make_owner(payload.source));
}

py::bytearray read(const Tensor& tensor, std::uint64_t begin, std::uint64_t nbytes) {
    const tensor::Payload payload = payload_of(tensor);
    if (begin > payload.bytes.size() || nbytes > payload.bytes.size() - begin) {
        throw py::index_error("outside the tensor");
    }
    PyObject* made = PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(nbytes));
    if (made == nullptr) throw py::error_already_set();
    auto result = py::reinterpret_steal<py::bytearray>(made);
    auto* out = reinterpret_cast<std::uint8_t*>(PyByteArray_AS_STRING(made));
    const py::gil_scoped_release release;
    payload.source->read(payload.offset + begin, {out, nbytes});
    return result;
}

// A path, or anything with write(). Raw files and sockets may take less than they are given.
void tofile(const Tensor& tensor, const py::object& file) {
    const py::object data = python_object<"onnxmap.slicing", "stored_bytes">()(py::cast(tensor));
    python_object<"onnxmap.slicing", "write_all">()(file, data);
}

py::buffer_info buffer(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    const onnx::DataTypeInfo& type = tensor::element_type(header);
    if (!tensor::stored_raw(header)) {
        throw py::buffer_error("the values are not stored as raw bytes; use numpy()");
    }
    const ByteView bytes = resident_bytes(tensor);
    auto* data = const_cast<std::uint8_t*>(bytes.data());
    const py::object format =
        python_object<"onnxmap.enums", "BUFFER_FORMATS">().attr("get")(static_cast<int>(type.type));
    if (format.is_none()) {
        // NumPy asks for a buffer before it asks for __array__, and would take flat bytes for the
        // values.
        throw py::buffer_error("the buffer protocol has no format for " + std::string(type.name) +
                               "; use numpy() or tobytes()");
    }
    const auto dims = header.dims();
    std::vector<py::ssize_t> sizes(dims.begin(), dims.end());
    std::vector<py::ssize_t> strides(sizes.size());
    py::ssize_t stride = type.itemsize();
    for (std::size_t i = sizes.size(); i-- > 0;) {
        strides[i] = stride;
        stride *= sizes[i];
    }
    return {data,
            static_cast<py::ssize_t>(type.itemsize()),
            format.cast<std::string>(),
            static_cast<py::ssize_t>(sizes.size()),
            std::move(sizes),
            std::move(strides),
            true};
}

py::object external(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    if (!header.external) return py::none();
    const tensor::ExternalEntry entry = entry_of(tensor, header);
    py::object length = py::none();
    if (entry.length) length = py::int_(*entry.length);
    py::object checksum = py::none();
    if (entry.checksum) checksum = to_str(*entry.checksum);
    return python_object<"onnxmap.types", "ExternalData">()(to_str(entry.location), entry.offset,
                                                            length, checksum);
}

py::object file(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    if (header.external) {
        const std::string path = tensor.document->store().external.path_of(
            entry_of(tensor, header).location, header.name);
        return path.empty() ? py::object(py::none()) : to_str(path);
    }
    const std::string& path = tensor.document->source().path();
    if (!header.raw_data || path.empty()) return py::none();
    return to_str(path);
}

py::object offset(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    if (header.external) return py::int_(entry_of(tensor, header).offset);
    if (!header.raw_data || tensor.document->source().path().empty()) return py::none();
    return py::int_(tensor.document->source().offset_of(*header.raw_data));
}

py::str text_field(const Tensor& tensor, const wire::FieldRow& row) {
    return to_str(tensor.message.text(row));
}

void bind_facts(py::class_<Tensor>& cls) {
    cls.def_property_readonly(
           "name", [](const Tensor& self) { return text_field(self, field<"TensorProto.name">); },
           "Name, or an empty string.")
        .def_property_readonly("dtype", dtype, "DataType. Raises TensorError `tensor.dtype`.")
        .def_property_readonly("shape", shape, "Tuple of int. Raises TensorError.")
        .def_property_readonly(
            "ndim", [](const Tensor& self) { return header_of(self).rank; },
            "Number of dimensions.")
        .def_property_readonly(
            "size", [](const Tensor& self) { return tensor::element_count(header_of(self)); },
            "Number of elements. Raises TensorError.")
        .def_property_readonly(
            "nbytes",
            [](const Tensor& self) { return tensor::stored_nbytes(self.message, header_of(self)); },
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
        .def_property_readonly(
            "is_aligned",
            [](const Tensor& self) {
                return is_view(self) &&
                       is_aligned(tensor::element_type(header_of(self)), payload_of(self));
            },
            "Whether that view is aligned for its type.")
        .def_property_readonly(
            "proto", [](const Tensor& self) { return ProtoView{self}; },
            "The source message under the exact names of onnx.proto.");
}

void bind_values(py::class_<Tensor>& cls) {
    cls.def("numpy", numpy, py::kw_only(), py::arg("copy") = py::none(),
            "The values as an array of shape `shape`: a read-only view of the file where they are "
            "stored raw or externally, in whole bytes, otherwise a new array. The view may be "
            "unaligned.\n\n"
            "Args:\n    copy: None copies only if it must, True always (the copy is writable), "
            "False raises ValueError instead of copying.\n\n"
            "Raises:\n    TensorError: shape, type and stored bytes do not agree.\n"
            "    ExternalDataError: the external file is missing, short or unsafe.")
        .def("__array__", array_protocol, py::arg("dtype") = py::none(),
             py::arg("copy") = py::none())
        .def("tobytes", tobytes, "The stored bytes of the values, in a new bytes object.")
        .def("tofile", tofile, py::arg("file"),
             "Writes the stored bytes to a path or to an object with write().")
        .def_buffer(buffer)
        .def(
            "__getitem__",
            [](const Tensor& self, const py::object& key) -> py::object {
                if (is_view(self)) return as_array(self)[key];
                return python_object<"onnxmap.slicing", "read_slice">()(self, key);
            },
            py::arg("key"), "What numpy()[key] gives, reading only those bytes where it can.")
        .def("_stored", stored_view,
             "Flat bytes of the values, in place; None where they are not stored so.")
        .def("_unread", unread, "An array over bytes that may not be in memory: to be sliced only.")
        .def("_read", read, py::arg("begin"), py::arg("nbytes"),
             "Stored bytes of the tensor, from `begin` on, read now.")
        .def("__len__",
             [](const Tensor& self) {
                 const py::tuple dims = shape(self);
                 if (dims.empty()) throw py::type_error("len() of a tensor without dimensions");
                 return dims[0].cast<std::int64_t>();
             })
        .def("__bool__", [](const Tensor&) -> bool {
            throw py::value_error("a Tensor is neither true nor false; look at its numpy()");
        });
}

template <class Class>
void bind_display(py::class_<Class>& cls) {
    cls.def("__repr__",
            [](const py::object& self) {
                return python_object<"onnxmap.display", "describe">()(self);
            })
        .def("_repr_html_", [](const py::object& self) {
            return python_object<"onnxmap.display", "describe_html">()(self);
        });
}

py::object sparse_part(const SparseTensor& sparse, const wire::FieldRow& row) {
    const auto part = sparse.message.child(row);
    return py::cast(Tensor{
        {sparse.document, part.value_or(onnx::Message(onnx::message<"TensorProto">, ByteView{}))}});
}

// As an object: an accessor would be evaluated when what it reads from is gone.
py::object sparse_fact(const SparseTensor& sparse, const char* name) {
    return sparse_part(sparse, field<"SparseTensorProto.values">).attr(name);
}

void bind_sparse(py::module_& module) {
    py::class_<SparseTensor> cls(module, "SparseTensor", "Values and where they stand.");
    cls.def_property_readonly(
           "name", [](const SparseTensor& self) { return sparse_fact(self, "name"); },
           "Name of its values, which is the sparse tensor's.")
        .def_property_readonly(
            "dtype", [](const SparseTensor& self) { return sparse_fact(self, "dtype"); },
            "DataType of the values.")
        .def_property_readonly(
            "shape",
            [](const SparseTensor& self) {
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
            "The source message under the exact names of onnx.proto.");
    bind_display(cls);
}

}  // namespace

void bind_tensor(py::module_& module) {
    py::class_<Tensor> cls(module, "Tensor", py::buffer_protocol(),
                           "A tensor of a model. Holds the model's bytes; its arrays do, too.");
    bind_facts(cls);
    bind_values(cls);
    bind_display(cls);
    bind_sparse(module);
}

}  // namespace onnxmap::bindings
