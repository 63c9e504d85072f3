// Files behind URLs: onnxmap._remote has the requests, the core the bytes that come of them.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "source/remote_file.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// What reads an onnxmap._remote.RemoteFile.
[[nodiscard]] std::shared_ptr<const source::RangeReader> range_reader(const py::object& file);

/// An onnxmap._remote.RemoteFolder.
[[nodiscard]] std::shared_ptr<const source::RemoteFolder> remote_folder(const py::object& folder);

}  // namespace onnxmap::bindings
