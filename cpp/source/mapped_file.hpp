// A file mapped read-only. Its structure is read through a small window of `pread`s, not through
// the mapping: touching the 130 headers of a large file would make 200 MB resident. A file that is
// truncated meanwhile gives an error instead of SIGBUS.
#pragma once

#include "os/pooled_file.hpp"
#include "source/source.hpp"

namespace onnxmap::source {

class MappedFile final : public Source {
  public:
    /// Takes over the file. If the constructor throws (FileError), the file stays as it was.
    MappedFile(os::File& file, const std::shared_ptr<const os::FileLocator>& locator);
    ~MappedFile() override;

    [[nodiscard]] const char* kind() const noexcept override { return "mmap"; }
    [[nodiscard]] std::unique_ptr<ByteFeed> feed() override;
    /// Throws Error `file.changed` if the file is no longer the one that was mapped.
    [[nodiscard]] std::shared_ptr<OwnedBytes> writable_copy(std::uint64_t offset,
                                                            std::uint64_t nbytes) const override;
};

}  // namespace onnxmap::source
