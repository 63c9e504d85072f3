// Opens a file by a name that came out of an untrusted file, inside one folder and nowhere else.
#pragma once

#include <memory>
#include <string>

#include "io/file.hpp"

namespace onnxmap::io {

/// A folder that is held open, so that a later rename of it changes nothing.
class Folder {
  public:
    /// The folder at `path`; one that is open already is shared. Throws FileError.
    [[nodiscard]] static std::shared_ptr<const Folder> open_shared(const std::string& path);

    /// Throws FileError.
    explicit Folder(std::string path);
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder();

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    /// Opens a regular file below the folder. Symbolic links are followed only while they stay
    /// inside; nothing but a regular file is ever opened for reading. Throws FileError, with ELOOP
    /// or EXDEV where a link or `..` leads outside, and Error `ext.not_regular`.
    [[nodiscard]] File open(const std::string& relative_path) const;

  private:
    [[nodiscard]] int find(const std::string& relative_path, const std::string& full) const;

    std::string path_;
    int descriptor_;
};

}  // namespace onnxmap::io
