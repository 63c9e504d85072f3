// The place of an output file: a name in an open folder. Links are judged here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "os/output_folder.hpp"
#include "save/folders_beneath.hpp"

namespace onnxmap::save {

/// Where the link at `path` leads, link by link. The last place may be free: a file is made there.
/// Throws FileError ELOOP.
[[nodiscard]] std::string follow_links(const std::string& path);

enum class AtOutputLink { refuse, replace, follow };

struct Destination {
    OpenFolder folder;
    std::string folder_path;  // with a slash at its end; empty for the working folder
    std::string name;
    std::string path;                             // as the caller wrote it, for error texts
    AtOutputLink at_link = AtOutputLink::refuse;  // what a link of that name would mean
    bool may_replace = true;                      // false: the name must be free
    std::optional<os::FileStatus> old;            // what had the name at the last look

    [[nodiscard]] std::optional<os::FileIdentity> old_identity() const noexcept {
        return old ? std::optional(old->identity) : std::nullopt;
    }

    /// The file whose permissions the new one gets.
    [[nodiscard]] std::optional<os::FileStatus> replaced() const noexcept {
        return old && old->kind == os::FileKind::regular ? old : std::nullopt;
    }
};

/// Finds the places of the files of one save. Each folder is opened once, and everything that is
/// looked at, made or renamed goes through that descriptor.
class Destinations {
  public:
    /// `replaces_read_only`: see SaveOptions. The others: see FoldersBeneath.
    Destinations(bool replaces_read_only, bool makes_folders, bool sync) noexcept
        : replaces_read_only_(replaces_read_only), beneath_(makes_folders, sync) {}

    /// A folder that is open already: `folder_path`, with a slash at its end, means it.
    void know(std::string folder_path, OpenFolder folder) {
        folders_.emplace_back(std::move(folder_path), std::move(folder));
    }

    /// The place of a file. `location`: how `path` ends, beneath the folder of the models; empty if
    /// all of it is the caller's. Without `may_replace` the name must be free. Throws what
    /// save_files() throws before anything is written.
    [[nodiscard]] Destination find(const std::string& path, AtOutputLink at_link,
                                   const std::string& location = {}, bool may_replace = true);

    /// Looks again at what has the name. Throws what find() throws.
    void check_again(Destination& place) const;

    /// All folders, each once.
    [[nodiscard]] std::vector<const os::OutputFolder*> folders() const;

    /// Lets the folders stay that were made for this.
    void keep_folders() noexcept { beneath_.keep(); }

  private:
    [[nodiscard]] OpenFolder open_folder(const std::string& folder_path, const std::string& path,
                                         const std::string& location);

    bool replaces_read_only_;
    FoldersBeneath beneath_;
    std::vector<std::pair<std::string, OpenFolder>> folders_;  // by their paths
    std::vector<std::pair<OpenFolder, std::string>> taken_;    // the places that were found
};

}  // namespace onnxmap::save
