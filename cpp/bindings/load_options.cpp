#include "bindings/load_options.hpp"

#include <string>
#include <utility>

#include "base/error.hpp"
#include "bindings/editing.hpp"
#include "bindings/interpreter_lock.hpp"
#include "bindings/option_names.hpp"
#include "bindings/package_seam.hpp"
#include "bindings/python_objects.hpp"
#include "bindings/remote.hpp"

namespace onnxmap::bindings {

namespace {

// The limits of 64 bits, by their names in onnxmap.Limits.
constexpr std::pair<const char*, std::uint64_t model::Limits::*> kLimits[] = {
    {"tensors", &model::Limits::tensors},
    {"pieces", &model::Limits::pieces},
    {"external_entries", &model::Limits::external_entries},
    {"overlap", &model::Limits::overlap},
    {"dense_bytes", &model::Limits::dense_bytes},
    {"text_bytes", &model::Limits::text_bytes},
};

void warn(const Error& fault) {
    if (tensor::TolerateQuietly::active()) return;
    const WithLock locked;
    const std::string message = std::string(fault.what()) + " (" + fault.code + ")";
    package::warn()("TensorWarning", to_str(message));
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
    options.root = &message_named(message);
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
    options.limits.depth = limits.attr("depth").cast<std::uint32_t>();
    for (const auto& [name, limit] : kLimits) {
        options.limits.*limit = limits.attr(name).cast<std::uint64_t>();
    }
    if (is_true(given.attr("lenient"))) options.tolerate = warn;
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
    py::dict found(py::arg("depth") = limits.depth);
    for (const auto& [name, limit] : kLimits) found[name] = limits.*limit;
    return found;
}

}  // namespace onnxmap::bindings
