// An existing regular file that gets more bytes at its end.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "os/descriptor.hpp"
#include "os/file.hpp"
#include "os/file_status.hpp"

namespace onnxmap::os {

/// All functions throw FileError.
class AppendFile {
  public:
    /// Opens the object at `path`, and never waits. Throws ELOOP for a symbolic link.
    explicit AppendFile(std::string path);

    [[nodiscard]] FileStatus status() const;

    /// Keeps out all other threads that want this, and all processes that lock the file, until
    /// unlock(). Never waits: false if another thread or process is faster. On a file system
    /// without locks, keeps only threads out. Not for long: a fork waits for unlock().
    [[nodiscard]] bool try_lock();
    void unlock() noexcept;

    /// Whether a thread or a process has the lock of the file now. Takes it for a moment, shared
    /// with others who ask: whoever tries to lock the file then has to try again.
    [[nodiscard]] static bool is_locked(const File& file);

    /// Writes bytes from `offset` on. If the system takes only some of them, writes the others by
    /// another call.
    void write(std::uint64_t offset, ByteView bytes);

    /// Waits until the disk has the bytes.
    void sync();

    /// Cuts the file to its size in `before`, and sets its time of modification to that of `before`
    /// if this process may do so.
    void restore(const FileIdentity& before);

  private:
    Descriptor descriptor_;
    std::string path_;
};

}  // namespace onnxmap::os
