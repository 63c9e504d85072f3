// A file that is needed repeatedly. Its descriptor stays open while the process holds few of them.
// After that, the file is opened again by a way that led to it before, and must be the same file.
// A file to which this process appends has not changed for those who hold it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/no_copy.hpp"
#include "os/descriptor_pool.hpp"
#include "os/file.hpp"
#include "os/folder.hpp"
#include "os/fork_safe_mutex.hpp"

namespace onnxmap::os {

/// A way to a file that was opened before. The file itself was checked when it was first opened; a
/// way only checks where it leads. Both functions throw FileError, and another std::runtime_error
/// if the way leads to a forbidden place.
class FileLocator : NoCopy {
  public:
    virtual ~FileLocator() = default;

    /// Opens `file` and no other file: compares the identity first. Nothing if another file is
    /// there.
    [[nodiscard]] virtual std::optional<File> open(const FileIdentity& file) const = 0;
    /// The identity of the object that is there now.
    [[nodiscard]] virtual FileIdentity identify() const = 0;
};

/// The identity of the file that `way` leads to now. Nothing if that is not `file`; its size and
/// time may differ. Throws FileError if the process has no descriptor or memory left.
[[nodiscard]] std::optional<FileIdentity> find_same_file(const FileLocator& locator,
                                                         const FileIdentity& file);

/// Finds it by the file's path.
[[nodiscard]] std::shared_ptr<const FileLocator> path_locator(std::string path);

/// Finds it by the file's name in a folder, which may have another path by now.
[[nodiscard]] std::shared_ptr<const FileLocator> folder_locator(
    std::shared_ptr<const Folder> folder, const std::string& name);

class PooledFile : NoCopy {
  public:
    PooledFile(File file, std::shared_ptr<const FileLocator> locator);
    ~PooledFile();

    /// The identity when the file was first opened.
    [[nodiscard]] const FileIdentity& identity() const noexcept { return identity_; }

    /// Adds another locator of the same file, since the folder of the first may go.
    void add_locator(std::shared_ptr<const FileLocator> locator);

    /// Returns the open file. Throws Error `file.changed` if no locator leads to it any longer, and
    /// FileError if the process has no descriptor left.
    [[nodiscard]] std::shared_ptr<const File> open() const;

    /// Throws Error `file.changed` if anything but an own append has changed the state of the file.
    /// A file that was deleted, or replaced under its name, has not changed for those who have it
    /// open.
    void check_unchanged() const;

  private:
    [[nodiscard]] std::shared_ptr<const File> find() const;
    [[nodiscard]] std::vector<std::shared_ptr<const FileLocator>> locators() const;

    friend void record_append(const FileIdentity& before, const FileIdentity& after);

    std::string path_;
    FileIdentity identity_;
    FileIdentity expected_;  // later than identity_ after own appends; under the mutex of all
    mutable ForkSafeMutex mutex_;
    std::vector<std::shared_ptr<const FileLocator>> locators_;
    mutable PooledDescriptor held_;
};

/// Notes that this process appended to a file. Pooled files that were in the state `before` are
/// expected in the state `after`.
void record_append(const FileIdentity& before, const FileIdentity& after);

}  // namespace onnxmap::os
