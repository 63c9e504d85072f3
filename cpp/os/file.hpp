// A regular file that is open for reading.
#pragma once

#include <fcntl.h>

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"
#include "os/descriptor.hpp"

namespace onnxmap::os {

/// What tells one state of a file from another. A rename, a link or a chmod changes none of it.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t born_ns = 0;  // 0 where the file system does not tell; inodes are used again

    [[nodiscard]] auto operator<=>(const FileIdentity&) const = default;

    /// Whether it is the same file, in whatever state.
    [[nodiscard]] bool same_file(const FileIdentity& other) const noexcept {
        return device == other.device && inode == other.inode && born_ns == other.born_ns;
    }
};

/// Flags to open a file for reading. A FIFO does not block, and a terminal does not become the
/// controlling one.
inline constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

/// Of whatever is open there, O_PATH included. Throws FileError, with `path`.
[[nodiscard]] FileIdentity identity_of(int descriptor, const std::string& path);

/// Whether the process lacks descriptors or memory, which says nothing about the file.
[[nodiscard]] bool is_shortage(const FileError& error) noexcept;

/// The current path, without links, of the file that is open as `descriptor`. Empty if there is no
/// /proc. If the file no longer has a name, the text leads to no file.
[[nodiscard]] std::string path_of_open(int descriptor);

/// Throws Error `file.changed` where a file that was `before` is another, or in another state, now.
void check_unchanged(const std::string& path, const FileIdentity& before, const FileIdentity& now);

class File {
  public:
    /// Opens `path`. Never blocks and never opens anything but a regular file for good: a FIFO or
    /// a device is an Error `model.not_regular`. Throws FileError.
    [[nodiscard]] static File open(const std::string& path);

    /// Opens the file that `found` (O_PATH) refers to, without using its name again. Nothing if
    /// there is no /proc. Throws what open() throws.
    [[nodiscard]] static std::optional<File> open_found(const Descriptor& found,
                                                        const std::string& path);

    /// Takes over a descriptor; `path` is what messages say. Throws as open() does.
    File(Descriptor descriptor, std::string path);

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] int descriptor() const noexcept { return descriptor_.number(); }
    /// As it was when it was opened.
    [[nodiscard]] const FileIdentity& identity() const noexcept { return identity_; }
    [[nodiscard]] std::uint64_t size() const noexcept { return identity_.size; }

    /// As it is now. Throws FileError.
    [[nodiscard]] FileIdentity identity_now() const;

    /// Whether the file has another hard link now. Throws FileError.
    [[nodiscard]] bool has_hard_links() const;

    /// Fills `out` from `offset` on. Throws FileError, and Error `file.changed` where the file
    /// is by now too short.
    void read(std::uint64_t offset, std::span<std::uint8_t> out) const;

    /// NFS, SMB, FUSE and the like: where a mapping would fetch the file page by page.
    [[nodiscard]] bool on_network() const noexcept;

  private:
    Descriptor descriptor_;
    std::string path_;
    FileIdentity identity_;
};

}  // namespace onnxmap::os
