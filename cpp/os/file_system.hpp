// The kind of file system that a file is on.
#pragma once

#include <cstdint>
#include <string>

#include "os/file_status.hpp"

namespace onnxmap::os {

/// Whether the file is on NFS, SMB, FUSE or a similar file system, where a mapping would fetch it
/// page by page. False if the system does not report it.
[[nodiscard]] bool on_network(int descriptor) noexcept;

/// Whether a regular file is an interface to the kernel, as those of /proc and /sys are: reading it
/// may have effects, or show data of the process. On Linux, `descriptor` is the file and may be
/// O_PATH; elsewhere it is unused. `root_device` is the device of a folder that stores files.
/// Throws FileError if the system cannot report what it should.
[[nodiscard]] bool leads_to_kernel(int descriptor, const FileStatus& status,
                                   std::uint64_t root_device, const std::string& path);

}  // namespace onnxmap::os
