// The object that a name leads to, found but not opened. Opening a FIFO may block, and opening a
// device may have effects, so an object is checked first.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "os/descriptor.hpp"
#include "os/file.hpp"
#include "os/file_status.hpp"

namespace onnxmap::os {

/// The object that is found if the name is a symbolic link.
enum class AtLink { the_link, its_target };

/// Where a search below a folder may go.
struct Beneath {
    bool leaves_folder = false;  // may leave it by "..", an absolute path or a link
    bool follows_links = true;
};

class FoundObject {
  public:
    /// Finds the object called `name` in `folder`; without a folder `name` is a path. Throws
    /// FileError, with `path`.
    FoundObject(std::shared_ptr<const Descriptor> folder, std::string name, AtLink at_link,
                const std::string& path);
    FoundObject(const std::string& path, AtLink at_link)
        : FoundObject(nullptr, path, at_link, path) {}

    /// The status when the object was found.
    [[nodiscard]] const FileStatus& status() const noexcept { return status_; }

    /// The folder that was searched, and the name that was looked up.
    [[nodiscard]] const std::shared_ptr<const Descriptor>& folder() const noexcept {
        return folder_;
    }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// The target of the link, as stored. Throws FileError.
    [[nodiscard]] std::string link_target() const;

    /// Opens the folder that was found, for objects below it. Throws FileError.
    [[nodiscard]] std::shared_ptr<const Descriptor> open_folder();

    /// Opens this object for reading, without using its name again. Nothing if the system cannot do
    /// that. `path` is for error texts. Throws what File::open throws.
    [[nodiscard]] std::optional<File> open_itself(const std::string& path) const;

    /// Opens the object that has the name now. Nothing if it is another object. Throws what
    /// File::open throws.
    [[nodiscard]] std::optional<File> open_by_name(const std::string& path) const;

    /// The descriptor for attributes_of() and leads_to_kernel(): O_PATH on Linux; -1 elsewhere.
    [[nodiscard]] int handle() const noexcept { return handle_.number(); }

  private:
    friend std::optional<FoundObject> find_beneath(std::shared_ptr<const Descriptor> folder,
                                                   const std::string& name, Beneath beneath,
                                                   const std::string& path);

    FoundObject(Descriptor handle, std::shared_ptr<const Descriptor> folder, std::string name,
                AtLink at_link, const std::string& path);

    Descriptor handle_;
    std::shared_ptr<const Descriptor> folder_;
    std::string name_;
    AtLink at_link_;
    FileStatus status_;
};

/// The object at a path; nothing if there is none, or nobody can tell.
[[nodiscard]] std::optional<FileStatus> object_at(const std::string& path, AtLink at_link);

/// Finds the object at a relative path by one system call. Nothing if there is none, if the search
/// may not go there, or if the system has no such call: the caller must then look up the components
/// one by one. The object must be opened by open_itself(), since its name goes through other
/// folders.
[[nodiscard]] std::optional<FoundObject> find_beneath(std::shared_ptr<const Descriptor> folder,
                                                      const std::string& name, Beneath beneath,
                                                      const std::string& path);

/// Opens a folder to look up objects below it. Throws FileError.
[[nodiscard]] Descriptor open_folder(const std::string& path);

/// The target of the link at `path`. Nothing if there is no link; errno has the reason, EINVAL for
/// an object that is not a link.
[[nodiscard]] std::optional<std::string> link_target(const std::string& path);

/// Whether a folder, not a link to a folder, is at `path`.
[[nodiscard]] bool is_folder(const std::string& path) noexcept;

/// The path without links; empty if no object is there.
[[nodiscard]] std::string real_path_of(const std::string& path);

}  // namespace onnxmap::os
