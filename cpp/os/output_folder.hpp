// A folder in which files are made, renamed and removed. It stays the same folder if its own name
// changes meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/descriptor.hpp"
#include "os/file_attributes.hpp"
#include "os/file_status.hpp"
#include "os/found_object.hpp"

namespace onnxmap::os {

/// `name` with random characters and `suffix` after it. The name is cut, since the result must not
/// be longer than file systems allow.
[[nodiscard]] std::string unique_name(std::string_view name, std::string_view suffix);

/// When the object at `path` last changed: its content, names or permissions, in nanoseconds.
/// Nothing if nobody can tell.
[[nodiscard]] std::optional<std::int64_t> last_change_of(const std::string& path) noexcept;

/// The end of the name of an old file that a save has moved aside: NAME.XXXXXXXX.onnxmap-old.
inline constexpr std::string_view kAsideEnd = ".onnxmap-old";

/// Whether `aside` is such a name of an old file called `name`; of any file if that is empty.
[[nodiscard]] bool is_aside_of(std::string_view aside, std::string_view name) noexcept;

/// Names are those of objects in the folder. All functions throw FileError; `path` is for error
/// texts.
class OutputFolder {
  public:
    /// Opens the folder `folder_path`, which must be readable, because it is synced later.
    OutputFolder(const std::string& folder_path, const std::string& path);

    /// Opens the folder called `name` in `parent`. Throws ELOOP or ENOTDIR for a link.
    OutputFolder(const OutputFolder& parent, const std::string& name, const std::string& path);

    [[nodiscard]] const FileIdentity& identity() const noexcept { return identity_; }
    [[nodiscard]] int descriptor() const noexcept { return descriptor_.number(); }

    /// The names of all objects in the folder, in any order.
    [[nodiscard]] std::vector<std::string> names(const std::string& path) const;

    /// Finds the object called `name`, or at that path beneath the folder, which must outlive the
    /// result.
    [[nodiscard]] FoundObject find(const std::string& name, AtLink at_link,
                                   const std::string& path) const;

    /// The status of the object itself, not of a link's target. Nothing if the name is free.
    [[nodiscard]] std::optional<FileStatus> look(const std::string& name,
                                                 const std::string& path) const;

    /// Whether it is a regular file that its owner, or this process, may not write to.
    [[nodiscard]] bool is_protected(const std::string& name, const FileStatus& found) const;

    /// See os::attributes_of. Nothing also if no regular file has the name.
    [[nodiscard]] std::optional<std::vector<FileAttribute>> attributes_of(
        const std::string& name) const;

    /// Gives the file a name in `to_folder`, which must be on the same file system. Replaces `to`.
    void rename(const std::string& from, const OutputFolder& to_folder, const std::string& to,
                const std::string& path) const;

    /// The same, but throws EEXIST if `to` is taken. On a file system with neither hard links nor
    /// such a call, looks first, so that a name that is taken at that moment is replaced.
    void rename_to_new(const std::string& from, const OutputFolder& to_folder,
                       const std::string& to, const std::string& path) const;

    /// Gives the file another name, in `to_folder`. False if the file system has no hard links.
    [[nodiscard]] bool link(const std::string& from, const OutputFolder& to_folder,
                            const std::string& to, const std::string& path) const;

    void remove(const std::string& name, const std::string& path) const;

    /// False if the name is taken.
    [[nodiscard]] bool make_folder(const std::string& name, const std::string& path) const;
    /// Removes a folder if it is empty. One that cannot be removed stays, and that is no error.
    void remove_folder(const std::string& name) const noexcept;

    /// Waits until the disk has the names of the folder. Does nothing on a file system that cannot
    /// sync folders.
    void sync(const std::string& path) const;

  private:
    Descriptor descriptor_;
    FileIdentity identity_;
};

}  // namespace onnxmap::os
