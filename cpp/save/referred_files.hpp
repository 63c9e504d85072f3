// The files to which a model refers by their absolute paths, wherever they are.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "source/source.hpp"

namespace onnxmap::save {

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
