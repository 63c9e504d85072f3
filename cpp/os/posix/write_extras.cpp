#include "os/write_extras.hpp"

#include <unistd.h>

#include <cerrno>

namespace onnxmap::os {

ssize_t copy_in_kernel(int, off_t, int, std::size_t) noexcept {
    errno = ENOSYS;
    return -1;
}

// The locks of POSIX belong to the process, and go when any descriptor of the file is closed.
int lock_file(int) noexcept {
    errno = ENOSYS;
    return -1;
}

int unlock_file(int) noexcept {
    errno = ENOSYS;
    return -1;
}

bool is_file_locked(int) noexcept { return false; }

int sync_file(int file) noexcept { return ::fsync(file); }

int rename_to_new(int, const char*, int, const char*) noexcept {
    errno = ENOSYS;
    return -1;
}

}  // namespace onnxmap::os
