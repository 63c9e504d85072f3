// A Tensor for other libraries and other processes.
#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/dlpack.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/tensor_access.hpp"
#include "model/tensor_reference.hpp"

namespace onnxmap::bindings {

namespace {

bool at_least_1_0(const py::object& version) {
    return !version.is_none() && py::object(version[py::int_(0)]) >= py::int_(1);
}

py::object dlpack(const Tensor& tensor, const py::object& stream, const py::object& max_version,
                  const py::object& device, const py::object& copy) {
    if (!stream.is_none()) throw py::buffer_error("a tensor in memory has no stream");
    if (!device.is_none() && !device.equal(py::make_tuple(1, 0))) {
        throw py::buffer_error("a tensor in memory is on the CPU");
    }
    DlpackOptions options;
    options.versioned = at_least_1_0(max_version);
    const Copying copying(copy);
    return with_values(tensor, [&](tensor::Values& values) -> py::object {
        const onnx::DataTypeInfo& type = values.type();
        if (type.bits == 0) throw py::buffer_error("DLPack has no strings");
        const auto dims = values.header().dims();
        const tensor::Payload* payload = values.payload();
        const bool in_place = payload != nullptr && payload->is_view();
        if (copying.never && !(in_place && options.versioned)) {
            throw py::buffer_error("the values cannot be handed out read-only without a copy");
        }
        values.check_padding();
        // A caller's buffer is handed out as it is, with the flag; so is whatever must not be
        // copied. Files are handed out on copy-on-write pages: a consumer that ignores the flag
        // would otherwise end the process.
        const bool is_file = in_place && !payload->source->path().empty();
        if (in_place && !copying.always && options.versioned && (copying.never || !is_file)) {
            return make_dlpack(type, dims, payload->bytes(), payload->source, options);
        }
        std::shared_ptr<source::OwnedBytes> bytes;
        {
            const WithoutLock unlocked;
            if (is_file && !copying.always) {
                bytes = payload->source->writable_copy(payload->offset, payload->nbytes);
            } else {
                values.check_count();
                bytes = std::make_shared<source::OwnedBytes>(
                    tensor::packed_nbytes(values.count(), type.bits));
                values.read_packed(bytes->writable());
                options.copied = true;
                options.read_only = !copying.always;
            }
        }
        const ByteView view = bytes->bytes();
        return make_dlpack(type, dims, view, std::move(bytes), options);
    });
}

py::object reference(const Tensor& tensor) {
    return with_values(tensor, [&](const tensor::Values& values) -> py::object {
        const auto found = model::reference_to(*tensor.document, tensor.message, values);
        if (!found) return py::none();
        return py::make_tuple(py::bytes(found->folder), py::bytes(found->location),
                              py::bytes(found->name), found->offset, found->nbytes,
                              found->file_size, found->has_hard_links);
    });
}

py::object file_size(const Tensor& tensor) {
    return with_values(tensor, [&](const tensor::Values& values) -> py::object {
        const tensor::Payload* payload = values.payload();
        if (payload == nullptr) return py::none();
        return py::int_(payload->source->size());
    });
}

// The file of the values and its state when it was opened: device, inode, size, and when it was
// last modified, in ns. None where there is no file.
py::object file_state(const Tensor& tensor) {
    return with_values(tensor, [&](const tensor::Values& values) -> py::object {
        const tensor::Payload* payload = values.payload();
        if (payload == nullptr) return py::none();
        if (const std::string state = payload->source->remote_state(); !state.empty()) {
            return to_str(state);
        }
        const auto identity = payload->source->identity();
        if (!identity) return py::none();
        return py::make_tuple(identity->device, identity->inode, identity->size,
                              identity->modified_ns);
    });
}

py::bytearray read(const Tensor& tensor, std::uint64_t begin, std::uint64_t nbytes) {
    return with_values(tensor, [&](const tensor::Values& values) {
        const tensor::Payload* payload = values.payload();
        if (payload == nullptr || begin > payload->nbytes || nbytes > payload->nbytes - begin) {
            throw py::index_error("outside the tensor");
        }
        PyObject* made = PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(nbytes));
        if (made == nullptr) throw py::error_already_set();
        auto result = py::reinterpret_steal<py::bytearray>(made);
        auto* out = reinterpret_cast<std::uint8_t*>(PyByteArray_AS_STRING(made));
        {
            const WithoutLock unlocked;
            payload->source->read(payload->offset + begin, {out, nbytes});
        }
        return result;
    });
}

// How files are opened: link_policy, allow_hardlinks, io and watch.
py::tuple policy(const Tensor& tensor) {
    const tensor::Store& store = tensor.document->store();
    const tensor::ExternalPlace& place = store.external.place();
    const char* links = place.policy.links == contain::LinkPolicy::contained ? "contained"
                        : place.policy.links == contain::LinkPolicy::strict  ? "strict"
                                                                             : "trusted";
    const char* mode = place.mode == source::IoMode::automatic ? "auto"
                       : place.mode == source::IoMode::mmap    ? "mmap"
                                                               : "read";
    return py::make_tuple(links, place.policy.allow_hardlinks, mode, store.watch);
}

// The bytes of the TensorProto, or None for a part of a tensor.
py::object message_bytes(const Tensor& tensor) {
    const auto values = naming(tensor, [&] { return values_of(tensor); });
    if (values.in_pieces()) return py::none();
    std::string bytes;
    for (std::size_t i = 0; i < tensor.message.piece_count(); ++i) {
        bytes += as_text(tensor.document->source().resident(tensor.message.piece(i)));
    }
    return py::bytes(bytes);
}

}  // namespace

void bind_tensor_exchange(GuardedClass<Tensor>& cls) {
    cls.def("__dlpack__", dlpack, py::kw_only(), py::arg("stream") = py::none(),
            py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(),
            py::arg("copy") = py::none(),
            "A DLPack capsule, flagged read-only, for `torch.from_dlpack` and the like. Of a file "
            "it shows copy-on-write pages (a copy, where that costs less), so that a consumer that "
            "ignores the flag does no harm; with copy=False the stored bytes themselves. Types of "
            "2, 4 and 6 bits are packed. Raises BufferError for strings.")
        .def("__dlpack_device__", [](const Tensor&) { return py::make_tuple(1, 0); })
        .def(
            "torch", unguarded([](const py::object& self) -> py::object {
                return package::to_torch()(self);
            }),
            "A torch tensor that may be written to: on copy-on-write pages of the file, a copy "
            "where the values are decoded or in a caller's buffer. Integers of 2 and 4 bits become "
            "int8 and uint8.\n\nRaises:\n    TypeError: torch has no such type.")
        .def("to_ir",
             unguarded([](const py::object& self) -> py::object { return package::to_ir()(self); }),
             "The same tensor as an onnx_ir tensor, not copied but for strings.")
        .def("_reference", reference,
             "Return where another process finds the values, as a tuple, or None.\n\n"
             "The tuple has the path or URL of a folder, the location of the file below it, that "
             "location as the model has it, the offset, the number of bytes, the size of the file, "
             "and whether the file has another hard link.\n\n"
             "It is None if no file stores the values as they are, or if no name in the folders of "
             "the model leads to that very file any longer.")
        .def("_file_size", file_size, "The size in bytes of the file that has the values, or None.")
        .def("_file_state", file_state,
             "Device, inode, size and nanosecond of modification of the file of the values when it "
             "was opened; text that stands for them where it is behind a URL; or None.")
        .def("_read", read, py::arg("begin"), py::arg("nbytes"), "Stored bytes, read now.")
        .def("_message", message_bytes, "The bytes of the message; None for a segment of several.")
        .def_property_readonly(
            "_lenient",
            [](const Tensor& self) { return static_cast<bool>(self.document->store().overlook); })
        .def_property_readonly("_policy", policy)
        .def(
            "__reduce__", unguarded([](const py::object& self) -> py::object {
                return package::reduce_tensor()(self);
            }),
            "For pickle: by reference where the values are bytes of a file (its path, their place, "
            "and enough to notice that the file changed), otherwise by value.")
        .def("__copy__", unguarded([](const py::object& self) { return self; }))
        .def("__deepcopy__",
             unguarded([](const py::object& self, const py::object&) { return self; }),
             py::arg("memo"));
}

}  // namespace onnxmap::bindings
