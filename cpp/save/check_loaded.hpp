// Whether the files of a loaded model are still the ones that were loaded, as far as a save needs
// it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "os/file_status.hpp"
#include "source/source.hpp"

namespace onnxmap::save {

/// For a file to which a new model will refer. Throws Error `file.changed` if `path` does not lead
/// to the file of `source`, or if that has changed. Returns its state, which is later than that of
/// `source` if this process appended to the file; nothing for a source without a local file.
std::optional<os::FileIdentity> check_referred(const source::Source& source,
                                               const std::string& path);

/// The files to which a model refers by their absolute paths, wherever they are.
class ReferredFiles {
  public:
    /// The path of the local file of a source, as it is now and without links. Empty if no path
    /// leads to that file: bytes in memory, a remote file, a file that was deleted or replaced.
    /// Throws Error `file.changed` if the file has changed since it was opened.
    [[nodiscard]] const std::string& path_of(const std::shared_ptr<const source::Source>& source);

    /// Throws Error `file.changed` if a path that path_of() returned leads to another file by now,
    /// or if the file has changed.
    void check() const;

  private:
    std::map<std::shared_ptr<const source::Source>, std::string> paths_;
};

}  // namespace onnxmap::save
