// The status of a file from the result of stat() and similar calls.
#pragma once

#include <sys/stat.h>

#include "os/file_status.hpp"

namespace onnxmap::os {

/// Of a `timespec`, or what a call of the system has instead.
template <class Time>
[[nodiscard]] std::int64_t nanoseconds(const Time& time) noexcept {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

[[nodiscard]] inline FileKind kind_of(unsigned mode) noexcept {
    if (S_ISREG(mode)) return FileKind::regular;
    if (S_ISDIR(mode)) return FileKind::folder;
    return S_ISLNK(mode) ? FileKind::link : FileKind::other;
}

/// When the content, or anything else, of the object of a `struct stat` was changed last. macOS has
/// another name for the member.
template <class Status>
[[nodiscard]] std::int64_t changed_ns(const Status& status) noexcept {
    if constexpr (requires { status.st_ctimespec; }) {
        return nanoseconds(status.st_ctimespec);
    } else {
        return nanoseconds(status.st_ctim);
    }
}

/// Of any `struct stat`: that of macOS has the time of birth, too.
template <class Status>
[[nodiscard]] FileStatus status_from(const Status& status) noexcept {
    const auto number = [](auto value) { return static_cast<std::uint64_t>(value); };
    std::int64_t modified_ns = 0;
    std::int64_t born_ns = 0;
    if constexpr (requires { status.st_mtimespec; }) {
        modified_ns = nanoseconds(status.st_mtimespec);
        born_ns = nanoseconds(status.st_birthtimespec);
    } else {
        modified_ns = nanoseconds(status.st_mtim);
    }
    return {{number(status.st_dev), number(status.st_ino), number(status.st_size), modified_ns,
             born_ns},
            kind_of(status.st_mode),
            number(status.st_nlink),
            number(status.st_blocks),
            status.st_mode & 0777U,
            status.st_uid,
            status.st_gid};
}

}  // namespace onnxmap::os
