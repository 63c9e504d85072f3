// Opening files and buffers.
#include <map>
#include <string>

#include "base/error.hpp"
#include "bindings/bind.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/option_names.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/remote.hpp"
#include "bindings/tensor_access.hpp"
#include "model/load.hpp"
#include "model/tensor_walk.hpp"
#include "os/parallel.hpp"
#include "os/processors.hpp"
#include "tensor/location.hpp"

namespace onnxmap::bindings {

namespace {

// A caller's buffer, held as long as any view of it exists.
class PythonBuffer final : public source::Source {
  public:
    explicit PythonBuffer(const py::object& object) {
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) {
            throw py::error_already_set();
        }
        data_ = static_cast<const std::uint8_t*>(view_.buf);
        guarded_region().lost->writable = view_.readonly == 0;
        size_ = static_cast<std::uint64_t>(view_.len);
    }

    // The last share may be released in any thread, even after the interpreter has ended. The
    // buffer then leaks, but the process is about to end.
    ~PythonBuffer() override {
        if (Py_IsInitialized() == 0) return;
        const WithLock locked;
        PyBuffer_Release(&view_);
    }

    [[nodiscard]] const char* kind() const noexcept override { return "buffer"; }

  private:
    Py_buffer view_{};
};

void warn(const Error& fault) {
    if (tensor::OverlookQuietly::active()) return;
    const WithLock locked;
    const std::string message = std::string(fault.what()) + " (" + fault.code + ")";
    package::warn_overlooked()(to_str(message));
}

// `external_root`: the path of a folder, or an onnxmap._remote.RemoteFolder.
void set_root(tensor::ExternalPlace& place, const py::object& external_root) {
    if (py::isinstance<py::bytes>(external_root)) {
        place.root = std::string(py::bytes(external_root));
        return;
    }
    place.remote = remote_folder(external_root);
    place.root = to_text(external_root.attr("url"));
}

// `given`: an onnxmap._options.Options.
model::LoadOptions options_of(std::string_view message, const py::object& given,
                              const py::object& external_root) {
    model::LoadOptions options;
    options.root = onnx::find_message(message);
    if (options.root == nullptr) {
        throw py::value_error("there is no message type named " + std::string(message));
    }
    const auto named = [&](const auto& choices, const char* option) {
        return value_named(choices, given.attr(option).cast<std::string>());
    };
    options.scan_packed = named(kChecks, "check");
    options.watch = is_true(given.attr("watch"));
    set_root(options.external, external_root);
    options.external.policy = {named(kLinkPolicies, "link_policy"),
                               is_true(given.attr("allow_hardlinks"))};
    options.external.mode = named(kIoModes, "io");
    const py::object limits = given.attr("limits");
    options.limits.tensors = limits.attr("tensors").cast<std::uint64_t>();
    options.limits.pieces = limits.attr("pieces").cast<std::uint64_t>();
    options.limits.depth = limits.attr("depth").cast<std::uint32_t>();
    options.limits.external_entries = limits.attr("external_entries").cast<std::uint64_t>();
    options.limits.overlap = limits.attr("overlap").cast<std::uint64_t>();
    options.limits.dense_bytes = limits.attr("dense_bytes").cast<std::uint64_t>();
    options.limits.text_bytes = limits.attr("text_bytes").cast<std::uint64_t>();
    if (is_true(given.attr("lenient"))) options.overlook = warn;
    return options;
}

DocumentPtr load_file(const py::bytes& path, std::string_view message, const py::object& given,
                      const py::object& external_root, const py::bytes& folder) {
    auto options = options_of(message, given, external_root);
    options.folder = std::string(folder);
    const std::string name(path);
    const WithoutLock unlocked;
    return model::load_file(name, options.external.mode, std::move(options));
}

DocumentPtr load_buffer(const py::object& buffer, std::string_view message, const py::object& given,
                        const py::object& external_root, bool require_model) {
    const auto options = options_of(message, given, external_root);
    auto source = std::make_shared<PythonBuffer>(buffer);
    const WithoutLock unlocked;
    return model::load_source(std::move(source), options, require_model);
}

DocumentPtr load_remote(const py::object& file, std::string_view message, const py::object& given,
                        const py::object& external_root, const std::string& folder) {
    auto options = options_of(message, given, external_root);
    options.folder = folder;
    auto source = std::make_shared<source::RemoteFile>(range_reader(file));
    const WithoutLock unlocked;
    return model::load_source(std::move(source), options, options.is_model());
}

py::list tensors(const DocumentPtr& document) {
    static_cast<void>(document->look_for_changes());
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
        .def("root",
             guarded([](const DocumentPtr& self) { return wrap_message({self, self->root()}); }))
        .def("tensors", guarded(tensors));

    module.def(
        "option_names",
        [] {
            py::dict names;
            names["link_policy"] = names_of(kLinkPolicies);
            names["io"] = names_of(kIoModes);
            names["check"] = names_of(kChecks);
            return names;
        },
        "Return the names that each option with several choices accepts.");
    module.def("load_file", load_file, py::arg("path"), py::arg("message"), py::arg("options"),
               py::arg("external_root"), py::arg("folder"));
    module.def("load_remote", load_remote, py::arg("file"), py::arg("message"), py::arg("options"),
               py::arg("external_root"), py::arg("folder"));
    module.def("load_buffer", load_buffer, py::arg("buffer"), py::arg("message"),
               py::arg("options"), py::arg("external_root"), py::arg("require_model") = false);
    module.def("is_stopped", os::is_stopped,
               "Return whether nobody waits any longer for this thread's work for the core.");
    module.def("usable_cpus", os::usable_cpus,
               "Return the number of processors that this process may run on.");
    module.def(
        "is_safe_location",
        [](const py::bytes& location) {
            return tensor::is_safe_location(std::string_view(location));
        },
        py::arg("location"),
        "Return whether the text of an external location names a file that may be opened.");
}

}  // namespace onnxmap::bindings
