// A regular file that is open for reading.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/error.hpp"
#include "os/descriptor.hpp"
#include "os/file_status.hpp"

namespace onnxmap::os {

/// Whether the process lacks descriptors or memory, which says nothing about the file.
[[nodiscard]] bool is_shortage(const FileError& error) noexcept;

/// Throws Error `file.changed` where a file that was `before` is another, or in another state, now.
void check_unchanged(const std::string& path, const FileIdentity& before, const FileIdentity& now);

class File {
  public:
    /// For open(): a FIFO does not block, and a terminal does not become the controlling one.
    static const int kOpenFlags;

    /// Opens `path`. Never blocks and never opens anything but a regular file for good: a FIFO or
    /// a device is an Error `model.not_regular`. Throws FileError.
    [[nodiscard]] static File open(const std::string& path);

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
