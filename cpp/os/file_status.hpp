// The status of an object that is open as a descriptor, whatever its kind.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace onnxmap::os {

/// Distinguishes one state of a file from another. A rename, a link or a chmod does not change it.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t born_ns = 0;  // 0 if unknown; needed since inode numbers are reused

    [[nodiscard]] auto operator<=>(const FileIdentity&) const = default;

    /// Whether both are the same file, in any state.
    [[nodiscard]] bool same_file(const FileIdentity& other) const noexcept {
        return device == other.device && inode == other.inode && born_ns == other.born_ns;
    }
};

enum class FileKind { regular, folder, link, other };

struct FileStatus {
    FileIdentity identity;
    FileKind kind = FileKind::other;
    std::uint64_t names = 0;   // hard links
    std::uint64_t blocks = 0;  // of a disk, or of the memory of a file system without a disk
    unsigned permissions = 0;  // read, write and execute, for owner, group and others
    unsigned user = 0;
    unsigned group = 0;
};

/// Throws FileError, with `path`.
[[nodiscard]] FileStatus status_of(int descriptor, const std::string& path);

/// The current path, without links, of the object that is open as `descriptor`. Empty if the system
/// does not report it. If the file no longer has a name, the text leads to no file.
[[nodiscard]] std::string path_of_open(int descriptor);

}  // namespace onnxmap::os
