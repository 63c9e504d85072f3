// Paths, and what is at them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "os/file_status.hpp"
#include "os/folder.hpp"
#include "os/found_object.hpp"
#include "os/output_folder.hpp"

namespace onnxmap::save {

using os::joined;
using os::object_at;

/// The new locations of data files, by those that they have.
using NewLocations = std::map<std::string, std::string, std::less<>>;

/// Replaces a location by the new one, if it has one.
void take_new(std::string& location, const NewLocations& names);

/// The path of the folder of a file, without a slash at its end.
[[nodiscard]] std::string parent_of(const std::string& path);

/// The path without links; the path itself if no object is there.
[[nodiscard]] std::string real_or_same(const std::string& path);

/// The path without links, but for the last name. A folder that is gone stays as it is spelled.
[[nodiscard]] std::string place_of(const std::string& path);

/// Whether a location beneath a folder is taken, if anybody can tell.
[[nodiscard]] bool has_object(const os::OutputFolder& folder, const std::string& location);

/// Distinguishes a file from all others: its device, its inode, and when it was made, since inodes
/// are used again.
using FileKey = std::tuple<std::uint64_t, std::uint64_t, std::int64_t>;

/// The key of the object at a path; see os::object_at().
[[nodiscard]] std::optional<FileKey> key_at(const std::string& path,
                                            os::AtLink at_link = os::AtLink::its_target);

}  // namespace onnxmap::save
