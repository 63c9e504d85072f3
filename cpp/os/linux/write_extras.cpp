// Calls the kernel itself, since older C libraries lack these functions.
#include "os/write_extras.hpp"

#include <linux/fs.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace onnxmap::os {

ssize_t copy_in_kernel(int from, off_t offset, int to, std::size_t nbytes) noexcept {
    loff_t at = offset;
    return ::syscall(SYS_copy_file_range, from, &at, to, nullptr, nbytes, 0U);
}

int lock_file(int file) noexcept { return ::flock(file, LOCK_EX | LOCK_NB); }

int unlock_file(int file) noexcept { return ::flock(file, LOCK_UN); }

bool is_file_locked(int file) noexcept {
    if (::flock(file, LOCK_SH | LOCK_NB) != 0) return errno == EWOULDBLOCK;
    unlock_file(file);
    return false;
}

int sync_file(int file) noexcept { return ::fsync(file); }

int rename_to_new(int from_folder, const char* from, int to_folder, const char* to) noexcept {
    return static_cast<int>(
        ::syscall(SYS_renameat2, from_folder, from, to_folder, to, unsigned{RENAME_NOREPLACE}));
}

}  // namespace onnxmap::os
