// Adds bytes at the end of an existing file, whatever its size.
#pragma once

#include <string>

#include "base/bytes.hpp"
#include "os/file_status.hpp"

namespace onnxmap::save {

/// Appends bytes to the regular file at `path` and returns its new identity. `known` is the
/// identity of the file that the caller has examined; any other file or state is Error
/// `file.changed`. A symbolic link, or a file with other hard links, is Error `save.link`.
///
/// The bytes are written by one call of the system. It is repeated only if the system took some of
/// the bytes. If it fails (FileError), the file is cut to its old size and gets its old time of
/// modification, so that it has its old identity. If that fails, too, throws Error
/// `save.not_restored`, which says where the file must be cut. Does not wait until the disk has the
/// bytes: a crash may leave some of them.
[[nodiscard]] os::FileIdentity append_bytes(const std::string& path, const os::FileIdentity& known,
                                            ByteView bytes);

}  // namespace onnxmap::save
