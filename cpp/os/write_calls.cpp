#include "os/write_calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "os/file_attributes.hpp"
#include "os/write_extras.hpp"

namespace onnxmap::os {

namespace {

int open_in(int folder, const char* name, int flags, mode_t mode) noexcept {
    return ::openat(folder, name, flags, mode);
}

int rename_in(int folder, const char* from, const char* to) noexcept {
    return ::renameat(folder, from, folder, to);
}

int link_in(int folder, const char* from, const char* to) noexcept {
    return ::linkat(folder, from, folder, to, 0);
}

int remove_from(int folder, const char* name) noexcept { return ::unlinkat(folder, name, 0); }

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
    .sync = ::fsync,
    .close = ::close,
    .rename = rename_in,
    .rename_to_new = rename_to_new,
    .link = link_in,
    .remove = remove_from,
};

constinit const WriteCalls* write_calls = &kSystemWriteCalls;

}  // namespace onnxmap::os
