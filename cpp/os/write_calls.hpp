// The system calls by which files are written. Tests put a table of their own in place, so that a
// call fails or is recorded.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"

struct timespec;

namespace onnxmap::os {

/// Each call returns -1 and sets errno if it fails. Names are those of objects in `folder`.
struct WriteCalls {
    int (*open)(int folder, const char* name, int flags, mode_t mode);
    ssize_t (*write)(int file, const void* bytes, std::size_t nbytes);
    ssize_t (*write_at)(int file, const void* bytes, std::size_t nbytes, off_t offset);
    /// Copies from `offset` of a file to the position of another one, within the kernel. ENOSYS if
    /// the system has no such call.
    ssize_t (*copy)(int from, off_t offset, int to, std::size_t nbytes);
    int (*cut)(int file, off_t nbytes);
    /// The times of access and of modification.
    int (*set_times)(int file, const timespec* times);
    /// Takes the lock of a file, which no other open file has at the same time. EWOULDBLOCK if
    /// another one has it. ENOSYS if the system has no such lock.
    int (*lock)(int file);
    int (*unlock)(int file);
    int (*set_owner)(int file, uid_t user, gid_t group);
    int (*set_mode)(int file, mode_t mode);
    /// An extended attribute of a file. ENOSYS or ENOTSUP if there are none.
    int (*set_attribute)(int file, const char* name, const void* value, std::size_t nbytes);
    int (*remove_attribute)(int file, const char* name);
    /// Returns when the content of a file or folder is on the disk.
    int (*sync)(int file);
    /// The descriptor is closed even if the call fails.
    int (*close)(int file);
    int (*rename)(int from_folder, const char* from, int to_folder, const char* to);
    /// EEXIST if `to` is taken. EINVAL or ENOSYS if the system cannot do that.
    int (*rename_to_new)(int from_folder, const char* from, int to_folder, const char* to);
    int (*link)(int from_folder, const char* from, int to_folder, const char* to);
    int (*remove)(int folder, const char* name);
    int (*make_folder)(int folder, const char* name);
    /// ENOTEMPTY or EEXIST if something is in it.
    int (*remove_folder)(int folder, const char* name);
};

/// The calls of the system.
extern const WriteCalls kSystemWriteCalls;

/// The calls in use. Only tests change it, while nothing is being written.
extern const WriteCalls* write_calls;

/// Writes all bytes at `offset` of a file. If the system takes only some of them, writes the others
/// by another call. Returns 0, or the number of the error.
[[nodiscard]] int write_all_at(int file, ByteView bytes, std::uint64_t offset) noexcept;

}  // namespace onnxmap::os
