#include "bindings/load_options.hpp"

#include <string>

#include "base/error.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/option_names.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/remote.hpp"

namespace onnxmap::bindings {

namespace {

void warn(const Error& fault) {
    if (tensor::OverlookQuietly::active()) return;
    const WithLock locked;
    const std::string message = std::string(fault.what()) + " (" + fault.code + ")";
    package::warn_overlooked()(to_str(message));
}

// `external_root`: the path of a folder, or an onnxmap._remote.RemoteFolder.
void set_root(tensor::ExternalFolder& external, const py::object& external_root) {
    if (py::isinstance<py::bytes>(external_root)) {
        external.root = std::string(py::bytes(external_root));
        return;
    }
    external.remote = remote_folder(external_root);
    external.root = to_text(external_root.attr("url"));
}

}  // namespace

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

py::tuple open_policy(const model::Document& document) {
    const tensor::ExternalFolder& external = document.store().external.folder();
    return py::make_tuple(name_of(kLinkPolicies, external.policy.links),
                          external.policy.allow_hardlinks, name_of(kIoModes, external.mode),
                          document.store().watch);
}

py::dict limits_of(const model::Document& document) {
    const model::Limits& limits = document.limits();
    py::dict found;
    found["tensors"] = limits.tensors;
    found["pieces"] = limits.pieces;
    found["depth"] = limits.depth;
    found["external_entries"] = limits.external_entries;
    found["overlap"] = limits.overlap;
    found["dense_bytes"] = limits.dense_bytes;
    found["text_bytes"] = limits.text_bytes;
    return found;
}

}  // namespace onnxmap::bindings
