// Adds bytes at the end of an existing file, whatever its size.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/bytes.hpp"
#include "os/file_status.hpp"
#include "save/folder_locks.hpp"

namespace onnxmap::save {

struct AppendOptions {
    bool sync = true;                    // wait until the disk has the bytes
    std::function<void()> look = [] {};  // called while others have a lock; may throw
    std::chrono::milliseconds patience = kLockPatience;
};

/// Appends bytes to the regular file at `path` and returns its new identity. `known` is the
/// identity of the file that the caller has examined; any other file or state is Error
/// `file.changed`, also a state that an own append has made. A symbolic link, or a file with other
/// hard links, is Error `save.link`. FileError EACCES for a file without its owner's write bit.
///
/// One append at a time, and none while a save changes names in the folder: others, in any thread
/// or process, wait. A program may lock the file or the folder for other reasons: after `patience`,
/// throws Error `save.locked`. If the name leads to another file by then, throws `file.changed`.
///
/// The bytes are written by one call of the system. It is repeated only if the system took some of
/// the bytes. If it fails (FileError), the file is cut to its old size and gets its old time of
/// modification, so that it has its old identity. If that fails, too, throws Error
/// `save.not_restored`, which says where the file must be cut. A crash may leave some of the bytes.
[[nodiscard]] os::FileIdentity append_bytes(const std::string& path, const os::FileIdentity& known,
                                            ByteView bytes, const AppendOptions& options = {});

}  // namespace onnxmap::save
