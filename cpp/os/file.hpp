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

/// Throws Error `file.changed` if `now` is another file or state than `before`.
void check_same_state(const std::string& path, const FileIdentity& before, const FileIdentity& now);

class File {
  public:
    /// For open(): a FIFO does not block, and a terminal does not become the controlling one.
    static const int kOpenFlags;

    /// Opens `path`. Never blocks. Throws Error `model.not_regular` for anything but a regular
    /// file, such as a FIFO or a device, and FileError.
    [[nodiscard]] static File open(const std::string& path);

    /// Takes over a descriptor; `path` is for error texts. Throws what open() throws.
    File(Descriptor descriptor, std::string path);

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] int descriptor() const noexcept { return descriptor_.number(); }
    /// The identity when the file was opened.
    [[nodiscard]] const FileIdentity& identity() const noexcept { return identity_; }
    [[nodiscard]] std::uint64_t size() const noexcept { return identity_.size; }

    /// The status now. Throws FileError.
    [[nodiscard]] FileStatus status() const { return status_of(descriptor(), path_); }

    /// Fills `out` from `offset` on. Throws FileError, and Error `file.changed` if the file is now
    /// too short.
    void read(std::uint64_t offset, std::span<std::uint8_t> out) const;

    /// Whether the file is on NFS, SMB, FUSE or a similar file system, where a mapping would fetch
    /// the file page by page.
    [[nodiscard]] bool on_network() const noexcept;

  private:
    Descriptor descriptor_;
    std::string path_;
    FileIdentity identity_;
};

}  // namespace onnxmap::os
