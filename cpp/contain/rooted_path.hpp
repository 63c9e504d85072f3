// The place at which an open file can be found again, even if the name that opened it is gone.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "os/file.hpp"
#include "os/folder.hpp"

namespace onnxmap::contain {

struct RootedPath {
    std::string folder;         // the folder's path without links
    std::string relative_path;  // below the folder, by names that are not links
};

/// The current place of `file` below the first of `folders` that contains it. Nothing if no folder
/// contains it, if the file no longer has a name, or if the system does not report the name. Names
/// can change at any moment: a caller that relies on the answer must open the place and compare.
/// Throws FileError if the process has no descriptor left.
[[nodiscard]] std::optional<RootedPath> rooted_path_of(
    const os::File& file, std::span<const std::shared_ptr<const os::Folder>> folders);

}  // namespace onnxmap::contain
