// The file of an external tensor, for code that reads all of it: checksums.
#include <memory>
#include <span>
#include <utility>

#include "bindings/bind.hpp"
#include "bindings/guarded.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/tensor_access.hpp"

namespace onnxmap::bindings {

namespace {

struct ExternalFile : model::ExternalFile {
    bool watch;
};

py::object external_file(const Tensor& tensor) {
    const model::Tensor core = core_of(tensor);
    auto file = without_lock_if(core.header().external, [&] { return core.open_external(); });
    if (!file) return py::none();
    return py::cast(ExternalFile{std::move(*file), tensor.document->store().watch});
}

void read_into(const ExternalFile& file, std::uint64_t offset, const py::object& buffer) {
    Py_buffer view{};
    if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_WRITABLE) != 0) {
        throw py::error_already_set();
    }
    const std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> target(&view, PyBuffer_Release);
    const std::span bytes(static_cast<std::uint8_t*>(view.buf), static_cast<std::size_t>(view.len));
    const std::uint64_t size = file.source->size();
    if (offset > size || bytes.size() > size - offset) {
        throw py::value_error("the range ends after the end of the file");
    }
    const WithoutLock unlocked;
    file.source->read_file(offset, bytes);
}

py::tuple identity(const ExternalFile& file) {
    const auto found = file.source->identity();
    if (found) return py::make_tuple(found->device, found->inode);
    // A remote file has only one source, which this object keeps alive, so its address is unique.
    return py::make_tuple(0, reinterpret_cast<std::uintptr_t>(file.source.get()));
}

}  // namespace

void bind_checksums(py::module_& module) {
    py::class_<ExternalFile>(module, "ExternalFile",
                             "An open data file, in the state that it had when it was opened.")
        .def_property_readonly(
            "path", [](const ExternalFile& self) { return to_str(self.path); }, "The path.")
        .def_property_readonly(
            "size", [](const ExternalFile& self) { return self.source->size(); },
            "The size in bytes.")
        .def_property_readonly(
            "identity", identity,
            "A pair that identifies the file: device and inode, or another pair for a remote file.")
        .def("readinto", read_into, py::arg("offset"), py::arg("buffer"),
             R"(Fill the buffer with the bytes from `offset` on.

Uses read calls, not a mapping.

Raises:
    FileChangedError: the file has become shorter.
    ValueError: the range ends after the end of the file.)")
        .def(
            "check_unchanged",
            [](const ExternalFile& self) {
                const WithoutLock unlocked;
                if (self.watch) self.source->check_unchanged();
            },
            R"(Raise FileChangedError if the file's size or time of modification has changed.

Does nothing with `watch=False`.)");

    module.def("external_file", guarded(external_file), py::arg("tensor"),
               "Return the open file of an external tensor; None if the tensor is not external.");
    module.def("tensor_path", guarded([](const Tensor& tensor) {
                   return to_str(model::tensor_path(*tensor.document, tensor.message().key()));
               }),
               py::arg("tensor"),
               "Return the path of the tensor in the model, such as `graph.initializer[3]`.");
}

}  // namespace onnxmap::bindings
