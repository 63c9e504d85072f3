// A file mapped read-only. Its structure is read through a small window of `pread`s, not through
// the mapping: touching 130 headers of a large file would make 200 MB of page cache resident,
// and a file that is truncated meanwhile gives an error instead of SIGBUS.
#pragma once

#include <optional>

#include "io/file.hpp"
#include "io/source.hpp"

namespace onnxmap::io {

class MappedFile final : public Source {
  public:
    /// Takes the file over, but leaves it as it was where it throws (FileError).
    MappedFile(File& file, Keep keep);
    ~MappedFile() override;

    [[nodiscard]] const char* kind() const noexcept override { return "mmap"; }
    [[nodiscard]] std::unique_ptr<ByteFeed> feed() override;

  private:
    std::optional<File> file_;
};

}  // namespace onnxmap::io
