#include "os/write_extras.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace onnxmap::os {

// macOS copies whole files only.
ssize_t copy_in_kernel(int, off_t, int, std::size_t) noexcept {
    errno = ENOSYS;
    return -1;
}

int lock_file(int file) noexcept { return ::flock(file, LOCK_EX | LOCK_NB); }

int unlock_file(int file) noexcept { return ::flock(file, LOCK_UN); }

bool is_file_locked(int file) noexcept {
    if (::flock(file, LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
    unlock_file(file);
    return false;
}

// fsync() leaves the bytes in the memory of the disk. Not every file system has the call that
// empties it.
int sync_file(int file) noexcept {
    if (::fcntl(file, F_FULLFSYNC) == 0) return 0;
    const bool is_unknown = errno == ENOTSUP || errno == EINVAL || errno == ENOTTY;
    return is_unknown ? ::fsync(file) : -1;
}

int rename_to_new(int from_folder, const char* from, int to_folder, const char* to) noexcept {
    return ::renameatx_np(from_folder, from, to_folder, to, RENAME_EXCL);
}

}  // namespace onnxmap::os
