// A folder that was opened once and stays the same, even if its name changes.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "os/descriptor_pool.hpp"
#include "os/file.hpp"

namespace onnxmap::os {

class Folder {
  public:
    /// The folder at `path`. A folder that is known already is shared. Throws FileError.
    [[nodiscard]] static std::shared_ptr<const Folder> open_shared(const std::string& path);

    /// Throws FileError.
    explicit Folder(std::string path);

    /// The path that opened the folder, for error texts.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// The identity that the folder must have if open() opens it again.
    [[nodiscard]] const FileIdentity& identity() const noexcept { return identity_; }

    /// Opens the folder to look up objects below it. Throws FileError, and Error `file.changed` if
    /// the folder had to be closed and another folder has its name now.
    [[nodiscard]] std::shared_ptr<const Descriptor> open() const;

    /// The current path without links; empty if it is unknown.
    [[nodiscard]] std::string real_path() const;

  private:
    std::string path_;
    FileIdentity identity_;
    mutable PooledDescriptor held_;
};

/// Takes a name of a folder, and whether it is that of a folder for certain. Returns whether to go
/// on.
using VisitName = std::function<bool(std::string_view name, bool is_folder)>;

/// Visits the names of all objects in `folder`, in any order. `path` is for error texts. Throws
/// FileError.
void for_each_name(const Descriptor& folder, const std::string& path, const VisitName& visit);

/// The path of a location beneath a folder; the location itself if it is absolute.
[[nodiscard]] std::string joined(const std::string& folder, std::string_view location);

/// Calls visit(name) for each component of a path. A component is empty before, after and between
/// separators that have nothing there.
template <class Visit>
void for_each_component(std::string_view path, std::string_view separators, Visit&& visit) {
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find_first_of(separators, begin), path.size());
        visit(path.substr(begin, end - begin));
        begin = end + 1;
    }
}

/// The part of the text `path` below `folder`. Nothing if `path` does not begin with `folder`.
[[nodiscard]] std::optional<std::string_view> path_below(std::string_view path,
                                                         std::string_view folder);

/// The folder that really holds `file`, if `path`, which opened it, is a link to it; otherwise
/// null.
[[nodiscard]] std::shared_ptr<const Folder> real_folder_of(const std::string& path,
                                                           const FileIdentity& file);

}  // namespace onnxmap::os
