// The folders of data files, beneath the folder of their model. No link is followed: what was
// looked at is what is used.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/no_copy.hpp"
#include "os/output_folder.hpp"

namespace onnxmap::save {

using OpenFolder = std::shared_ptr<const os::OutputFolder>;

/// Throws Error `ext.unsafe_path` about a data file; its text ends with `reason`.
[[noreturn]] void refuse_location(const std::string& location, const std::string& reason);

/// The part of a path up to its name, with the slash; empty if there is none.
[[nodiscard]] std::string folder_part(const std::string& path);

class FoldersBeneath : NoCopy {
  public:
    /// `makes_missing`: folders that are missing are made. `sync`: the disk has a new folder before
    /// anything is put there.
    FoldersBeneath(bool makes_missing, bool sync) noexcept
        : makes_missing_(makes_missing), sync_(sync) {}
    ~FoldersBeneath() { remove(); }

    /// Opens the folder of `location`, whose text must not lead out of `base`. Throws Error
    /// `ext.unsafe_path` if a part of it is a symbolic link, and FileError, with `path`.
    [[nodiscard]] OpenFolder open(OpenFolder base, const std::string& location,
                                  const std::string& path);

    /// Lets the new folders stay.
    void keep() noexcept { made_.clear(); }

    /// Removes the new folders again, unless somebody has put something there.
    void remove() noexcept;

  private:
    [[nodiscard]] OpenFolder enter(const OpenFolder& parent, const std::string& name,
                                   const std::string& location, const std::string& path);

    bool makes_missing_;
    bool sync_;
    std::vector<std::pair<OpenFolder, std::string>> made_;  // by their parents, in order
};

/// A file beneath a folder.
struct PlaceBeneath {
    OpenFolder folder;
    std::string name;
    std::string path;  // for error texts
};

/// The place of `location` beneath the folder at `folder_path`. Its folder must be there. Throws
/// what FoldersBeneath::open() throws.
[[nodiscard]] PlaceBeneath place_beneath(const std::string& folder_path,
                                         const std::string& location);

}  // namespace onnxmap::save
