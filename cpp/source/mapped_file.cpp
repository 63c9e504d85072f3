#include "source/mapped_file.hpp"

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "os/mapping.hpp"
#include "source/owned_bytes.hpp"
#include "source/window.hpp"

namespace onnxmap::source {

namespace {

// Bytes. For fewer, a copy costs less than a mapping and its page faults. A process may also have
// only some 65 000 mappings.
constexpr std::uint64_t kLeastToMap = 128 << 10;

}  // namespace

MappedFile::MappedFile(os::File& file, const std::shared_ptr<const os::FileLocator>& locator) {
    data_ = os::map_file(file);
    take_file(std::move(file), locator);
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) os::unmap(data_, size_);
}

std::unique_ptr<ByteFeed> MappedFile::feed() { return std::make_unique<WindowFeed>(file()); }

std::shared_ptr<OwnedBytes> MappedFile::writable_copy(std::uint64_t offset,
                                                      std::uint64_t nbytes) const {
    if (nbytes < kLeastToMap) return Source::writable_copy(offset, nbytes);
    // A copy does not need to open the file.
    const auto opened = file_if_any();
    if (!opened) return Source::writable_copy(offset, nbytes);
    check_for_changes();
    try {
        return OwnedBytes::map_private(*opened, offset, nbytes);
    } catch (const FileError& error) {
        if (error.number != ENOMEM) throw;  // ENOMEM: the process has no mappings left
        return Source::writable_copy(offset, nbytes);
    }
}

}  // namespace onnxmap::source
