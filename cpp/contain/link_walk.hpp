// Finds a file below a folder one component at a time, so that it is known of each whether it is a
// link and where that leads. It is the way where links leave the folder and may do so, and where
// the system has no call for that or a sandbox forbids it.
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

/// Opens nothing outside the roots: there, links are only read, by their path. Whatever such a
/// path leads to counts only once it has come to a root, whose descriptor takes over.
class LinkWalk {
  public:
    /// A walk starts in the first of `roots`.
    LinkWalk(std::vector<std::shared_ptr<const os::Folder>> roots, bool follow_links);

    /// Throws FileError (ENOENT, EACCES ...; ELOOP after 40 links, or a way too long), and Refused
    /// where a link leads out of the roots or must not be followed.
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
    bool to_folder_ = false;            // what it ends at must be one
    std::vector<std::string> pending_;  // the next component last

    // Where we are: below a root, by names that are no links, or outside at a path without links.
    const Root* root_ = nullptr;
    std::vector<std::string> below_;
    std::shared_ptr<const os::Descriptor> here_;
    std::string outside_;
};

}  // namespace onnxmap::contain
