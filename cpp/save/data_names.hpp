// The names of data files that are written. Whoever made a model chose the names of its data files,
// and in another folder these must not become files that mean something: `.bashrc`, `numpy.py`,
// `Makefile`. A name stays only if it is plainly the name of a data file.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>

#include "os/output_folder.hpp"
#include "save/callbacks.hpp"
#include "save/paths.hpp"

namespace onnxmap::save {

/// Refuses the name of a data file that leads out of the folder by its text. The save itself
/// follows no link in it. Throws FileError ENAMETOOLONG, and Error `ext.unsafe_path`.
void check_data_location(const std::string& folder, const std::string& location);

/// Refuses the name of a data file that other readers could not read, or would understand as
/// something else: it is not UTF-8, or has a backslash, which some readers take for a separator.
/// Throws Error `save.data_name`.
void check_text(const std::string& location);

// For the data files of a model that comes into a folder, where its name is `model`:

/// Whether a data file may keep its location, which has no `.` and `..`.
[[nodiscard]] bool is_plain_location(const os::OutputFolder& folder, const std::string& location,
                                     const Callbacks& callbacks);

/// The i-th name for a data file that cannot keep its own, the best first.
[[nodiscard]] std::string data_name_after(const std::string& model, const std::string& name,
                                          std::size_t i, const Callbacks& callbacks);

/// Whether a data file may have a location.
using IsFree = std::function<bool(const std::string&)>;

/// The new location of each data file that cannot keep its own.
[[nodiscard]] NewLocations locations_beside(const std::string& model,
                                            const os::OutputFolder& folder,
                                            const std::set<std::string>& locations,
                                            const IsFree& is_free, const Callbacks& callbacks);

}  // namespace onnxmap::save
