// Where a file that is open can be found again, whatever became of the name it was opened by.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "io/file.hpp"
#include "io/folder.hpp"

namespace onnxmap::io {

struct FilePlace {
    std::string folder;         // its path without links
    std::string relative_path;  // below the folder, by names that are no links
};

/// Where `file` is now below the first of `folders` that contains it. Nothing if none does, if the
/// file has no name any longer, or if there is no /proc to tell. Names can change at any moment:
/// whoever relies on the answer opens it and compares. Throws FileError if the process has no
/// descriptor left.
[[nodiscard]] std::optional<FilePlace> place_of(
    const File& file, std::span<const std::shared_ptr<const Folder>> folders);

}  // namespace onnxmap::io
