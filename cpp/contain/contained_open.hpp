// Opens files by names from an untrusted file, only in the folders that may hold them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "contain/link_walk.hpp"
#include "contain/refusal.hpp"
#include "os/file.hpp"
#include "os/folder.hpp"
#include "os/found_object.hpp"
#include "os/pooled_file.hpp"

namespace onnxmap::contain {

enum class LinkPolicy {
    contained,  // symbolic links are followed if they end in one of the folders
    strict,     // no symbolic link is followed
    trusted,    // all symbolic links are followed, and hard links are not checked
};

struct OpenPolicy {
    LinkPolicy links = LinkPolicy::contained;
    bool allow_hardlinks = false;
};

class ContainedOpen {
  public:
    /// Names are relative to the first of `roots`. A link may lead into any of them.
    ContainedOpen(std::vector<std::shared_ptr<const os::Folder>> roots, OpenPolicy policy);

    [[nodiscard]] const std::vector<std::shared_ptr<const os::Folder>>& roots() const noexcept {
        return roots_;
    }

    /// Opens a regular file for reading. No other object is opened: no FIFO, no device, no file of
    /// /proc, and nothing outside. The text of `relative_path` must not lead out of the folder.
    /// Throws FileError (ELOOP: links form a circle; EISDIR), Refused, and Error `file.changed` if
    /// the folder had to be opened again and is another folder now.
    [[nodiscard]] os::File open(const std::string& relative_path) const;

    /// Opens `file`, which was opened before, and no other file. A hard link that was made since
    /// then does not matter. Throws what open() throws.
    [[nodiscard]] os::File open_again(const std::string& relative_path,
                                      const os::FileIdentity& file) const;
    /// The identity of the file that open() would open. Throws what open() throws.
    [[nodiscard]] os::FileIdentity look(const std::string& relative_path) const;

    /// Visits the names in a folder below the first root; `relative_folder` may be empty. No link
    /// is followed, whatever the policy. Throws Failure and Refused.
    void for_each_name(const std::string& relative_folder, const os::VisitName& visit) const;

  private:
    [[nodiscard]] std::string path_of(const std::string& relative_path) const;
    template <class Judge>
    [[nodiscard]] os::File open_found(const std::string& relative_path, const std::string& path,
                                      Judge&& judge) const;
    [[nodiscard]] std::optional<os::FoundObject> find_by_kernel(const std::string& relative_path,
                                                                const std::string& path) const;
    [[nodiscard]] os::FoundObject find_by_steps(const std::string& relative_path,
                                                const std::string& path) const;
    void judge(const os::FoundObject& found, const std::string& path) const;

    std::vector<std::shared_ptr<const os::Folder>> roots_;
    OpenPolicy policy_;
};

/// The way of a PooledFile to the file at `relative_path`.
[[nodiscard]] std::shared_ptr<const os::FileLocator> location_locator(
    std::shared_ptr<const ContainedOpen> opener, std::string relative_path);

}  // namespace onnxmap::contain
