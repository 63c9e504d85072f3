// Adds bytes at the end of an existing file, whatever its size.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/bytes.hpp"
#include "os/file_status.hpp"

namespace onnxmap::save {

/// How long an append waits for others. Each of them takes far less.
inline constexpr std::chrono::milliseconds kLockPatience{10'000};

/// Appends bytes to the regular file at `path` and returns its new identity. `known` is the
/// identity of the file that the caller has examined; any other file or state is Error
/// `file.changed`, also a state that an own append has made. A symbolic link, or a file with other
/// hard links, is Error `save.link`.
///
/// One append at a time: others, in any thread or process, wait. A program may lock the file for
/// other reasons: after `patience`, throws Error `save.locked`. Calls look() while it waits, and
/// throws what look() throws.
///
/// The bytes are written by one call of the system. It is repeated only if the system took some of
/// the bytes. If it fails (FileError), the file is cut to its old size and gets its old time of
/// modification, so that it has its old identity. If that fails, too, throws Error
/// `save.not_restored`, which says where the file must be cut. Does not wait until the disk has the
/// bytes: a crash may leave some of them.
[[nodiscard]] os::FileIdentity append_bytes(const std::string& path, const os::FileIdentity& known,
                                            ByteView bytes, const std::function<void()>& look,
                                            std::chrono::milliseconds patience = kLockPatience);

}  // namespace onnxmap::save
