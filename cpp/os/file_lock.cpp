#include "os/file_lock.hpp"

#include <cerrno>

#include "base/error.hpp"
#include "os/retried.hpp"
#include "os/write_calls.hpp"

namespace onnxmap::os {

namespace {

// EBADF and EISDIR: NFS wants a file that is open for writing, which no folder is.
bool lacks_locks(int number) noexcept {
    return number == ENOLCK || number == ENOSYS || number == EINVAL || number == EOPNOTSUPP ||
           number == EBADF || number == EISDIR;
}

}  // namespace

bool try_lock(int descriptor, const std::string& path) {
    if (retried([&] { return write_calls->lock(descriptor); }) == 0) return true;
    if (errno == EWOULDBLOCK) return false;
    if (!lacks_locks(errno)) throw FileError(errno, path);
    return true;
}

void unlock(int descriptor) noexcept { static_cast<void>(write_calls->unlock(descriptor)); }

}  // namespace onnxmap::os
