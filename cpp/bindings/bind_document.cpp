// Opening files and buffers.
#include <map>
#include <string>

#include "base/error.hpp"
#include "bindings/bind.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/tensor_access.hpp"
#include "model/load.hpp"
#include "model/tensor_walk.hpp"

namespace onnxmap::bindings {

namespace {

// A caller's buffer, held as long as anything looks at it.
class PythonBuffer final : public io::Source {
  public:
    explicit PythonBuffer(const py::object& object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) {
            throw py::error_already_set();
        }
        data_ = static_cast<const std::uint8_t*>(view_.buf);
        size_ = static_cast<std::uint64_t>(view_.len);
    }

    // The last share may go in any thread, and after the interpreter: then the process ends anyway.
    ~PythonBuffer() override {
        if (Py_IsInitialized() == 0) return;
        const py::gil_scoped_acquire acquire;
        PyBuffer_Release(&view_);
    }

    [[nodiscard]] const char* kind() const noexcept override { return "buffer"; }

  private:
    Py_buffer view_{};
};

const wire::MessageTable& table_of(std::string_view name) {
    const wire::MessageTable* table = onnx::find_message(name);
    if (table == nullptr) throw py::value_error("no message " + std::string(name));
    return *table;
}

io::IoMode io_mode(std::string_view name) {
    if (name == "auto") return io::IoMode::automatic;
    if (name == "mmap") return io::IoMode::mmap;
    if (name == "read") return io::IoMode::read;
    throw py::value_error("io must be 'auto', 'mmap' or 'read', not " + quoted(name));
}

bool is_full(std::string_view check) {
    if (check == "full") return true;
    if (check == "lazy") return false;
    throw py::value_error("check must be 'full' or 'lazy', not " + quoted(check));
}

void warn(const Error& fault) {
    if (OverlookQuietly::active()) return;
    const py::gil_scoped_acquire acquire;
    const std::string message = std::string(fault.what()) + " (" + fault.code + ")";
    python_object<"onnxmap.errors", "warn_overlooked">()(to_str(message));
}

model::LoadOptions options_of(std::string_view message, std::string_view io, std::string_view check,
                              const py::bytes& external_root, const py::object& limits,
                              bool lenient) {
    model::LoadOptions options;
    options.root = &table_of(message);
    options.scan_packed = is_full(check);
    options.external_root = std::string(external_root);
    options.external_io = io_mode(io);
    options.limits.tensors = limits.attr("tensors").cast<std::uint64_t>();
    options.limits.pieces = limits.attr("pieces").cast<std::uint64_t>();
    options.limits.depth = limits.attr("depth").cast<std::uint32_t>();
    options.limits.external_entries = limits.attr("external_entries").cast<std::uint64_t>();
    options.limits.dense_bytes = limits.attr("dense_bytes").cast<std::uint64_t>();
    if (lenient) options.overlook = warn;
    return options;
}

DocumentPtr load_file(const py::bytes& path, std::string_view message, std::string_view io,
                      std::string_view check, const py::bytes& external_root,
                      const py::object& limits, bool lenient, const py::bytes& folder) {
    auto options = options_of(message, io, check, external_root, limits, lenient);
    options.folder = std::string(folder);
    const std::string name(path);
    const py::gil_scoped_release release;
    return model::load_file(name, io_mode(io), options);
}

DocumentPtr load_buffer(const py::object& buffer, std::string_view message, std::string_view io,
                        std::string_view check, const py::bytes& external_root,
                        const py::object& limits, bool lenient, bool require_model) {
    const auto options = options_of(message, io, check, external_root, limits, lenient);
    auto source = std::make_shared<PythonBuffer>(buffer);
    const py::gil_scoped_release release;
    return model::load_source(std::move(source), options, require_model);
}

py::list tensors(const DocumentPtr& document) {
    py::list found;
    model::for_each_tensor(
        document->root(), document->limits().depth,
        [&](const std::string& path, const onnx::Message& tensor) {
            found.append(py::make_tuple(to_str(path), Tensor{{document, tensor}}));
        });
    return found;
}

}  // namespace

void bind_document(py::module_& module) {
    py::class_<model::Document, std::shared_ptr<model::Document>>(module, "Document",
                                                                  "A loaded file or buffer.")
        .def_property_readonly("nbytes",
                               [](const model::Document& self) { return self.source().size(); })
        .def_property_readonly("io",
                               [](const model::Document& self) { return self.source().kind(); })
        .def_property_readonly(
            "proto", [](const DocumentPtr& self) { return ProtoView{{self, self->root()}}; })
        .def("root", [](const DocumentPtr& self) { return wrap_message({self, self->root()}); })
        .def("tensors", tensors);

    module.def("load_file", load_file, py::arg("path"), py::arg("message"), py::arg("io"),
               py::arg("check"), py::arg("external_root"), py::arg("limits"), py::arg("lenient"),
               py::arg("folder"));
    module.def("load_buffer", load_buffer, py::arg("buffer"), py::arg("message"), py::arg("io"),
               py::arg("check"), py::arg("external_root"), py::arg("limits"),
               py::arg("lenient") = false, py::arg("require_model") = false);
}

}  // namespace onnxmap::bindings
