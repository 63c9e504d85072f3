// Opens files by names that came out of an untrusted file, in the folders where they may be and
// nowhere else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "contain/link_walk.hpp"
#include "contain/refusal.hpp"
#include "os/file.hpp"
#include "os/folder.hpp"
#include "os/held_file.hpp"

namespace onnxmap::contain {

enum class LinkPolicy {
    contained,  // symbolic links are followed where they end in one of the folders
    strict,     // none is followed
    trusted,    // all are followed, and hard links are of no interest
};

struct OpenPolicy {
    LinkPolicy links = LinkPolicy::contained;
    bool allow_hardlinks = false;
};

class ContainedOpen {
  public:
    /// Names are relative to the first of `roots`; a link may lead into any of them.
    ContainedOpen(std::vector<std::shared_ptr<const os::Folder>> roots, OpenPolicy policy);

    [[nodiscard]] const std::vector<std::shared_ptr<const os::Folder>>& roots() const noexcept {
        return roots_;
    }

    /// Opens a regular file for reading. Nothing else is opened, only looked at: not a FIFO, not a
    /// device, not a file of /proc, nor anything outside. `relative_path` must not lead out by its
    /// text. Throws FileError (ELOOP: links in a circle; EISDIR), Refused, and Error `file.changed`
    /// where the folder had to be opened again and is another.
    [[nodiscard]] os::File open(const std::string& relative_path) const;

    /// Opens `file`, which was opened before, and nothing else. A hard link that was made since
    /// then does not matter. Throws what open() throws.
    [[nodiscard]] os::File open_again(const std::string& relative_path,
                                      const os::FileIdentity& file) const;
    /// The identity of the file that open() would open. Throws what open() throws.
    [[nodiscard]] os::FileIdentity look(const std::string& relative_path) const;

  private:
    [[nodiscard]] std::string path_of(const std::string& relative_path) const;
    template <class Judge>
    [[nodiscard]] os::File open_found(const std::string& relative_path, const std::string& path,
                                      Judge&& judge) const;
    [[nodiscard]] os::Descriptor find_by_kernel(const std::string& relative_path) const;
    [[nodiscard]] Found find_by_steps(const std::string& relative_path,
                                      const std::string& path) const;
    void judge(const os::Descriptor& object, const std::string& path) const;

    std::vector<std::shared_ptr<const os::Folder>> roots_;
    OpenPolicy policy_;
};

/// The way of a HeldFile to the file at `relative_path`.
[[nodiscard]] std::shared_ptr<const os::WayToFile> way_by_location(
    std::shared_ptr<const ContainedOpen> opener, std::string relative_path);

}  // namespace onnxmap::contain
