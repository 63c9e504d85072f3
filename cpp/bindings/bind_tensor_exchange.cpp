// Hands a Tensor to other libraries and other processes.
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>

#include "bindings/arrays.hpp"
#include "bindings/bind.hpp"
#include "bindings/dlpack.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/tensor_access.hpp"
#include "model/tensor_reference.hpp"

namespace onnxmap::bindings {

namespace {

bool at_least_1_0(const py::object& version) {
    return !version.is_none() && py::object(version[py::int_(0)]) >= py::int_(1);
}

py::object dlpack(const Tensor& tensor, const py::object& stream, const py::object& max_version,
                  const py::object& device, const py::object& copy) {
    if (!stream.is_none()) {
        throw py::buffer_error("a tensor is in CPU memory and has no stream; pass stream=None");
    }
    if (!device.is_none() && !device.equal(py::make_tuple(1, 0))) {
        throw py::buffer_error("a tensor is in CPU memory; pass dl_device=(1, 0) or None");
    }
    DlpackOptions options;
    options.versioned = at_least_1_0(max_version);
    const Copying copying(copy);
    return with_values(tensor, [&](tensor::Values& values) -> py::object {
        const onnx::DataTypeInfo& type = values.type();
        if (type.bits == 0) throw py::buffer_error("DLPack has no type for strings; use numpy()");
        const auto dims = values.header().dims();
        const tensor::Payload* payload = values.payload();
        const bool in_place = payload != nullptr && payload->is_view();
        if (copying.never && !(in_place && options.versioned)) {
            throw py::buffer_error(
                "copy=False, but the values cannot be shared read-only without a copy");
        }
        values.check_padding();
        // A caller's buffer is shared as it is, with the flag; with copy=False a file is, too.
        // Otherwise files are shared as copy-on-write pages: writing to read-only pages would end
        // the process of a consumer that ignores the flag.
        const bool is_file = in_place && !payload->source->path().empty();
        if (in_place && !copying.always && options.versioned && (copying.never || !is_file)) {
            return make_dlpack(type, dims, payload->bytes(), payload->source, options);
        }
        const bool is_shared = is_file && !copying.always;
        options.copied = !is_shared;
        options.read_only = !copying.always;
        auto bytes = without_lock([&] {
            return is_shared ? payload->source->writable_copy(payload->offset, payload->nbytes)
                             : packed_copy(values);
        });
        const ByteView view = bytes->bytes();
        return make_dlpack(type, dims, view, std::move(bytes), options);
    });
}

py::object reference(const Tensor& tensor) {
    return with_values(tensor, [&](const tensor::Values& values) -> py::object {
        const auto found = model::reference_to(*tensor.document, tensor.message(), values);
        if (!found) return py::none();
        return py::make_tuple(py::bytes(found->folder), py::bytes(found->location),
                              py::bytes(found->name), found->offset, found->nbytes,
                              found->file_size, found->has_hard_links);
    });
}

std::optional<std::uint64_t> file_size(const Tensor& tensor) {
    return with_values(tensor, [&](const tensor::Values& values) -> std::optional<std::uint64_t> {
        if (values.payload() == nullptr) return std::nullopt;
        return values.payload()->source->size();
    });
}

// The state of the file of the values when it was opened: device, inode, size, and time of
// modification in ns. None if the values are in no file.
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

py::bytearray read_stored(const Tensor& tensor, std::uint64_t begin, std::uint64_t nbytes) {
    return with_values(tensor, [&](const tensor::Values& values) {
        const tensor::Payload* payload = values.payload();
        if (payload == nullptr || begin > payload->nbytes || nbytes > payload->nbytes - begin) {
            throw py::index_error("the range lies outside the tensor");
        }
        auto result = owned<py::bytearray>(
            PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(nbytes)));
        auto* out = reinterpret_cast<std::uint8_t*>(PyByteArray_AS_STRING(result.ptr()));
        without_lock([&] {
            values.read_packed_part(begin, {out, nbytes});
            values.check_again();
        });
        return result;
    });
}

// The bytes of the TensorProto, or None for a part of a tensor.
py::object message_bytes(const Tensor& tensor) {
    return with_values(tensor, [&](const tensor::Values& values) -> py::object {
        if (values.in_pieces()) return py::none();
        return py::cast(ProtoView{tensor}).attr("SerializeToString")();
    });
}

}  // namespace

void bind_tensor_exchange(GuardedClass<Tensor>& cls) {
    cls.def(
           "__dlpack__", dlpack, py::kw_only(), py::arg("stream") = py::none(),
           py::arg("max_version") = py::none(), py::arg("dl_device") = py::none(),
           py::arg("copy") = py::none(),
           R"(Return a DLPack capsule that is flagged read-only, for `torch.from_dlpack` and others.

The capsule of a file shows copy-on-write pages, or a copy if a copy costs less. A consumer that
ignores the flag therefore does no harm. With `copy=False` it shows the stored bytes themselves.
Types of 2, 4 and 6 bits are packed.

Raises:
    BufferError: the tensor holds strings; or `copy=False`, and the capsule needs a copy.)")
        .def("_reference", reference,
             R"(Return where another process finds the values, as a tuple, or None.

The tuple has the path or URL of a folder, the location of the file below it, the location as the
model has it, the offset, the number of bytes, the size of the file, and whether the file has
another hard link.

The result is None if no file stores the values as they are, or if no name in the folders of the
model leads to the same file any longer.)")
        .def("_file_size", file_size,
             "Return the size in bytes of the file that holds the values, or None.")
        .def("_file_state", file_state,
             R"(Return the state of the file of the values when it was opened, or None.

The state is the device, inode, size and time of modification in ns; for a file behind a URL it
is a text.)")
        .def("_read", read_stored, py::arg("begin"), py::arg("nbytes"),
             "Return stored bytes, read now.")
        .def("_message", message_bytes,
             "Return the bytes of the message, or None for one segment of several.");
}

}  // namespace onnxmap::bindings
