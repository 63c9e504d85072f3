// The options of a load, from the arguments that the package has checked.
#pragma once

#include <pybind11/pybind11.h>

#include <string_view>

#include "model/document.hpp"
#include "model/load_options.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// `message`: the name of the message type that the bytes hold. `given`: an
/// onnxmap._base.options.Options. `external_root`: the path of a folder as bytes, or an
/// onnxmap._remote.RemoteFolder. Throws ValueError.
[[nodiscard]] model::LoadOptions options_of(std::string_view message, const py::object& given,
                                            const py::object& external_root);

/// How a document opens files: link_policy, allow_hardlinks, io and watch.
[[nodiscard]] py::tuple open_policy(const model::Document& document);

/// The limits of a document that are not about servers, by their names in onnxmap.Limits.
[[nodiscard]] py::dict limits_of(const model::Document& document);

}  // namespace onnxmap::bindings
