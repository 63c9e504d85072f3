// What a name leads to, looked at and not opened. Opening a FIFO may block, and opening a device
// may have effects: an object is judged first.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "os/descriptor.hpp"
#include "os/file.hpp"
#include "os/file_status.hpp"

namespace onnxmap::os {

/// What is found if the name is that of a symbolic link.
enum class AtLink { the_link, its_target };

/// What a search below a folder may go through.
struct Beneath {
    bool leaves_folder = false;  // also what is elsewhere, by "..", an absolute path or a link
    bool follows_links = true;
};

class FoundObject {
  public:
    /// What is called `name` in `folder`; without a folder `name` is a path. Throws FileError, with
    /// `path`.
    FoundObject(std::shared_ptr<const Descriptor> folder, std::string name, AtLink at_link,
                const std::string& path);
    FoundObject(const std::string& path, AtLink at_link)
        : FoundObject(nullptr, path, at_link, path) {}

    /// As it was when it was found.
    [[nodiscard]] const FileStatus& status() const noexcept { return status_; }

    /// The folder that was searched, and the name that was looked up.
    [[nodiscard]] const std::shared_ptr<const Descriptor>& folder() const noexcept {
        return folder_;
    }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Where a link leads, as it is written. Throws FileError.
    [[nodiscard]] std::string link_target() const;

    /// The folder that was found, for what is below it. Throws FileError.
    [[nodiscard]] std::shared_ptr<const Descriptor> open_folder();

    /// Opens this object for reading, without using its name again. Nothing if the system cannot
    /// do that. `path` is what messages say. Throws what File::open throws.
    [[nodiscard]] std::optional<File> open_itself(const std::string& path) const;

    /// Opens what has the name now. Nothing if that is another object. Throws what File::open
    /// throws.
    [[nodiscard]] std::optional<File> open_by_name(const std::string& path) const;

    /// See os::leads_to_kernel.
    [[nodiscard]] bool leads_to_kernel(std::uint64_t root_device, const std::string& path) const;

  private:
    friend std::optional<FoundObject> find_beneath(std::shared_ptr<const Descriptor> folder,
                                                   const std::string& name, Beneath beneath,
                                                   const std::string& path);

    FoundObject(Descriptor handle, std::shared_ptr<const Descriptor> folder, std::string name,
                AtLink at_link, const std::string& path);

    Descriptor handle_;  // O_PATH on Linux; none elsewhere
    std::shared_ptr<const Descriptor> folder_;
    std::string name_;
    AtLink at_link_;
    FileStatus status_;
};

/// The object at a relative path, found by one system call. Nothing if there is none, if the search
/// may not go there, or if the system has no such call: then the components have to be looked up
/// one by one. The object must be opened by open_itself(), since its name goes through other
/// folders.
[[nodiscard]] std::optional<FoundObject> find_beneath(std::shared_ptr<const Descriptor> folder,
                                                      const std::string& name, Beneath beneath,
                                                      const std::string& path);

/// A folder, open for looking up what is below it. Throws FileError.
[[nodiscard]] Descriptor open_folder(const std::string& path);

/// Where a link at `path` leads. Nothing if there is no link there; errno says why, EINVAL for what
/// is no link.
[[nodiscard]] std::optional<std::string> link_target(const std::string& path);

/// Whether a folder, and no link to one, is at `path`.
[[nodiscard]] bool is_folder(const std::string& path) noexcept;

/// The path without links; empty if there is nothing.
[[nodiscard]] std::string real_path_of(const std::string& path);

}  // namespace onnxmap::os
