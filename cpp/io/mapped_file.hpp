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
    MappedFile(File& file, Reopen reopen);
    ~MappedFile() override;

    [[nodiscard]] const char* kind() const noexcept override { return "mmap"; }
    [[nodiscard]] std::unique_ptr<ByteFeed> feed() override;
    /// Throws Error `file.changed` where the file is no longer what was mapped.
    [[nodiscard]] std::shared_ptr<OwnedBytes> writable_copy(std::uint64_t offset,
                                                            std::uint64_t nbytes) const override;

  private:
    std::optional<File> file_;
    Reopen reopen_;  // where file_ is not kept
    FileIdentity identity_;
};

}  // namespace onnxmap::io
