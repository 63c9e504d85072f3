// A folder that was opened once and stays the same, whatever becomes of its name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "os/descriptor_pool.hpp"
#include "os/file.hpp"

namespace onnxmap::os {

class Folder {
  public:
    /// The folder at `path`; one that is known already is shared. Throws FileError.
    [[nodiscard]] static std::shared_ptr<const Folder> open_shared(const std::string& path);

    /// Throws FileError.
    explicit Folder(std::string path);

    /// As it was opened; messages say this.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// The folder, open (O_PATH). Throws FileError, and Error `file.changed` where it had to be
    /// closed and another folder has its name by now.
    [[nodiscard]] std::shared_ptr<const Descriptor> open() const;

    /// Its path without links, as it is now; empty where that cannot be told.
    [[nodiscard]] std::string real_path() const;

  private:
    std::string path_;
    FileIdentity identity_;
    mutable HeldOpen held_;
};

/// The part of the text `path` below `folder`. Nothing if `path` does not begin with `folder`.
[[nodiscard]] std::optional<std::string_view> path_below(std::string_view path,
                                                         std::string_view folder);

/// The folder that really holds `file`, where `path`, by which it was opened, is a link to it;
/// otherwise null.
[[nodiscard]] std::shared_ptr<const Folder> real_folder_of(const std::string& path,
                                                           const FileIdentity& file);

}  // namespace onnxmap::os
