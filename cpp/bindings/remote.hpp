// Files behind URLs: onnxmap._remote makes the requests, and the core uses the bytes.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "source/remote_file.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// The reader of an onnxmap._remote.RemoteFile.
[[nodiscard]] std::shared_ptr<const source::RangeReader> range_reader(const py::object& file);

/// The core's view of an onnxmap._remote.RemoteFolder.
[[nodiscard]] std::shared_ptr<const source::RemoteFolder> remote_folder(const py::object& folder);

}  // namespace onnxmap::bindings
