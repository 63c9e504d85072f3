#include "os/file_status.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "base/error.hpp"
#include "os/stat.hpp"

namespace onnxmap::os {

FileStatus status_of(int descriptor, const std::string& path) {
    struct statx status{};
    if (::statx(descriptor, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &status) != 0) {
        throw FileError(errno, path);
    }
    const bool has_birth = (status.stx_mask & STATX_BTIME) != 0;
    const FileIdentity identity{makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino,
                                status.stx_size, nanoseconds(status.stx_mtime),
                                has_birth ? nanoseconds(status.stx_btime) : 0};
    return {identity,          kind_of(status.stx_mode), status.stx_nlink,
            status.stx_blocks, status.stx_mode & 0777U,  status.stx_uid,
            status.stx_gid};
}

// Nothing if there is no /proc.
std::string path_of_open(int descriptor) {
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    std::string path(PATH_MAX, '\0');
    const ssize_t count = ::readlink(link.c_str(), path.data(), path.size());
    path.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return path;
}

}  // namespace onnxmap::os
