// Finds a file below a folder one component at a time, so that the walk knows whether each
// component is a link, and where it leads. Used if a location goes through links that leave the
// folder, or if the system or a sandbox does not allow the single system call.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "contain/refusal.hpp"
#include "os/descriptor.hpp"
#include "os/folder.hpp"
#include "os/found_object.hpp"

namespace onnxmap::contain {

/// Outside the roots, it only reads the text of links. A path that leads back into a root continues
/// from that root's descriptor.
class LinkWalk {
  public:
    /// A walk starts in the first of `roots`.
    LinkWalk(std::vector<std::shared_ptr<const os::Folder>> roots, bool follow_links);

    /// Throws FileError (ENOENT, EACCES ...; ELOOP after 40 links or too many steps). Throws
    /// Refused if a link leads out of the roots or must not be followed.
    [[nodiscard]] os::FoundObject find(std::string_view location);

  private:
    struct Root {
        std::shared_ptr<const os::Folder> folder;
        std::string real_path;
    };

    void push(std::string_view path);
    void count_step();
    [[nodiscard]] bool inside() const noexcept { return root_ != nullptr; }
    [[nodiscard]] std::string path() const;
    [[nodiscard]] os::FoundObject look_up(const std::string& name);
    void enter(os::FoundObject folder);
    void follow(const std::string& target);
    void go_up();
    void step_outside(const std::string& name);
    void settle(const std::string& path);
    void go_down(const std::vector<std::string>& names);

    std::vector<Root> roots_;
    bool follow_links_;
    unsigned links_ = 0;
    unsigned steps_ = 0;
    bool to_folder_ = false;            // the location must end at a folder
    std::vector<std::string> pending_;  // the next component last

    // The current position: below a root, by names that are not links, or outside at a path without
    // links.
    const Root* root_ = nullptr;
    std::vector<std::string> below_;
    std::shared_ptr<const os::Descriptor> here_;
    std::string outside_;
};

}  // namespace onnxmap::contain
