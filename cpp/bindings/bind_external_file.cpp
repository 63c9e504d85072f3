// The file behind an external tensor, for whoever reads all of it: checksums.
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

struct ExternalFile {
    std::shared_ptr<const source::Source> source;
    std::string path;  // as this model names it; the source may be shared with another one
    bool watch = true;
};

// A caller's buffer that can be written to.
class WritableBuffer {
  public:
    explicit WritableBuffer(const py::object& object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_WRITABLE) != 0) {
            throw py::error_already_set();
        }
    }
    WritableBuffer(const WritableBuffer&) = delete;
    WritableBuffer& operator=(const WritableBuffer&) = delete;
    ~WritableBuffer() { PyBuffer_Release(&view_); }

    [[nodiscard]] std::span<std::uint8_t> bytes() const noexcept {
        return {static_cast<std::uint8_t*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

  private:
    Py_buffer view_{};
};

py::object external_file(const Tensor& tensor) {
    const tensor::Header header = header_of(tensor);
    if (!header.external) return py::none();
    return naming(tensor, [&] {
        const tensor::Store& store = tensor.document->store();
        const tensor::ExternalEntry entry =
            tensor::read_external_entry(tensor.message, header.name, store.max_external_entries);
        ExternalFile file;
        file.watch = store.watch;
        {
            const WithoutLock unlocked;  // opening a file may take a while
            file.source = store.external.open(entry.location, header.name);
            file.path = store.external.path_of(entry.location, header.name);
        }
        return py::cast(std::move(file));
    });
}

void read_into(const ExternalFile& file, std::uint64_t offset, const py::object& buffer) {
    const WritableBuffer target(buffer);
    const std::span<std::uint8_t> bytes = target.bytes();
    const std::uint64_t size = file.source->size();
    if (offset > size || bytes.size() > size - offset) {
        throw py::value_error("past the end of the file");
    }
    const WithoutLock unlocked;
    file.source->read_file(offset, bytes);
}

py::tuple identity(const ExternalFile& file) {
    const auto found = file.source->identity();
    if (found) return py::make_tuple(found->device, found->inode);
    // Of a remote file there is one source, which is held here.
    return py::make_tuple(0, reinterpret_cast<std::uintptr_t>(file.source.get()));
}

}  // namespace

void bind_external_file(py::module_& module) {
    py::class_<ExternalFile>(module, "ExternalFile",
                             "A data file as it was when it was opened. Holds it open.")
        .def_property_readonly(
            "path", [](const ExternalFile& self) { return to_str(self.path); }, "Its path.")
        .def_property_readonly(
            "size", [](const ExternalFile& self) { return self.source->size(); }, "In bytes.")
        .def_property_readonly("identity", identity,
                               "Device and inode; another pair for a remote file.")
        .def("readinto", read_into, py::arg("offset"), py::arg("buffer"),
             "Fills the buffer with what the file has from `offset` on, by reading and not through "
             "a mapping.\n\nRaises:\n    FileChangedError: the file is shorter by now.")
        .def(
            "check_unchanged",
            [](const ExternalFile& self) {
                const WithoutLock unlocked;
                if (self.watch) self.source->check_unchanged();
            },
            "Raises FileChangedError where its size or time of modification is another by now; "
            "with `watch=False` it does not look.");

    module.def("external_file", guarded(external_file), py::arg("tensor"),
               "The file of an external tensor, opened; None for a tensor that is not external.");
    module.def(
        "tensor_path", guarded([](const Tensor& tensor) {
            return to_str(model::tensor_path(*tensor.document, tensor.message.piece(0).data()));
        }),
        py::arg("tensor"), "Where in the model it is, like `graph.initializer[3]`.");
}

}  // namespace onnxmap::bindings
