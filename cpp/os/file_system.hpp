// On what kind of file system a file is.
#pragma once

#include <cstdint>
#include <string>

#include "os/file_status.hpp"

namespace onnxmap::os {

/// NFS, SMB, FUSE and the like, where a mapping would fetch the file page by page. No if the system
/// does not tell.
[[nodiscard]] bool on_network(int descriptor) noexcept;

/// Whether a regular file is a door to the kernel, as those of /proc and /sys: reading may have
/// effects, or show what belongs to the process. `descriptor` is the file on Linux, where it may be
/// O_PATH, and unused elsewhere. `root_device` is the device of a folder that stores files. Throws
/// FileError if the system should tell and does not.
[[nodiscard]] bool leads_to_kernel(int descriptor, const FileStatus& status,
                                   std::uint64_t root_device, const std::string& path);

}  // namespace onnxmap::os
