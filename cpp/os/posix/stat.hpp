// The status of a file from the result of stat() and similar calls.
#pragma once

#include <sys/stat.h>

#include "os/file_status.hpp"

namespace onnxmap::os {

[[nodiscard]] inline FileStatus status_from(const struct stat& status) noexcept {
    const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
    const std::int64_t modified_ns =
        std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    const FileKind kind = S_ISREG(status.st_mode)   ? FileKind::regular
                          : S_ISDIR(status.st_mode) ? FileKind::folder
                          : S_ISLNK(status.st_mode) ? FileKind::link
                                                    : FileKind::other;
    return {{number(status.st_dev), number(status.st_ino), number(status.st_size), modified_ns, 0},
            kind,
            number(status.st_nlink),
            number(status.st_blocks),
            status.st_mode & 0777U,
            status.st_uid,
            status.st_gid};
}

}  // namespace onnxmap::os
