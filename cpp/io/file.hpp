// A regular file that is open for reading.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>

namespace onnxmap::io {

/// What tells one state of a file from another. A rename, a link or a chmod changes none of it.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;

    [[nodiscard]] auto operator<=>(const FileIdentity&) const = default;
};

class File {
  public:
    /// Opens `path`. Never blocks and never opens anything but a regular file for good: a FIFO or
    /// a device is an Error `model.not_regular`. Throws FileError.
    [[nodiscard]] static File open(const std::string& path);

    /// Takes over a descriptor; `path` is what messages say.
    [[nodiscard]] static File adopt(int descriptor, std::string path);

    File(File&& other) noexcept;
    File& operator=(File&& other) noexcept;
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File();

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    /// As it was when it was opened.
    [[nodiscard]] const FileIdentity& identity() const noexcept { return identity_; }
    [[nodiscard]] std::uint64_t size() const noexcept { return identity_.size; }

    /// Throws Error `file.changed` where the file is by now another than `expected`, or in another
    /// state.
    void check_unchanged(const FileIdentity& expected) const;

    /// Fills `out` from `offset` on. Throws FileError, and Error `file.changed` where the file
    /// is by now too short.
    void read(std::uint64_t offset, std::span<std::uint8_t> out) const;

    /// NFS, SMB, FUSE and the like: where a mapping would fetch the file page by page.
    [[nodiscard]] bool on_network() const noexcept;

  private:
    File(int descriptor, std::string path);

    int descriptor_;
    std::string path_;
    FileIdentity identity_;
};

}  // namespace onnxmap::io
