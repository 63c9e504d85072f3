#include "os/write_calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "os/file_attributes.hpp"
#include "os/retried.hpp"
#include "os/write_extras.hpp"

namespace onnxmap::os {

namespace {

int open_in(int folder, const char* name, int flags, mode_t mode) noexcept {
    return ::openat(folder, name, flags, mode);
}

int link(int from_folder, const char* from, int to_folder, const char* to) noexcept {
    return ::linkat(from_folder, from, to_folder, to, 0);
}

int remove_from(int folder, const char* name) noexcept { return ::unlinkat(folder, name, 0); }

int make_folder_in(int folder, const char* name) noexcept { return ::mkdirat(folder, name, 0777); }

int remove_folder_from(int folder, const char* name) noexcept {
    return ::unlinkat(folder, name, AT_REMOVEDIR);
}

}  // namespace

constinit const WriteCalls kSystemWriteCalls{
    .open = open_in,
    .write = ::write,
    .write_at = ::pwrite,
    .copy = copy_in_kernel,
    .cut = ::ftruncate,
    .set_times = ::futimens,
    .lock = lock_file,
    .unlock = unlock_file,
    .set_owner = ::fchown,
    .set_mode = ::fchmod,
    .set_attribute = set_attribute,
    .remove_attribute = remove_attribute,
    .sync = sync_file,
    .close = ::close,
    .rename = ::renameat,
    .rename_to_new = rename_to_new,
    .link = link,
    .remove = remove_from,
    .make_folder = make_folder_in,
    .remove_folder = remove_folder_from,
};

constinit const WriteCalls* write_calls = &kSystemWriteCalls;

int write_all_at(int file, ByteView bytes, std::uint64_t offset) noexcept {
    while (!bytes.empty()) {
        const ssize_t count = retried([&] {
            return write_calls->write_at(file, bytes.data(), bytes.size(),
                                         static_cast<off_t>(offset));
        });
        if (count < 0) return errno;
        if (count == 0) return EIO;  // no system does that, but it would loop
        bytes = bytes.subspan(static_cast<std::size_t>(count));
        offset += static_cast<std::uint64_t>(count);
    }
    return 0;
}

}  // namespace onnxmap::os
