#include "io/mapped_file.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "io/owned_bytes.hpp"
#include "io/window.hpp"

namespace onnxmap::io {

namespace {

const std::uint8_t* map(const File& file) {
    if (file.size() == 0) return nullptr;  // mmap of nothing is EINVAL
    void* address = ::mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (address == MAP_FAILED) throw FileError(errno, file.path());
    return static_cast<const std::uint8_t*>(address);
}

// Bytes. Below, a copy costs less than a mapping and the faults of its pages, and a process may
// have only some 65 000 mappings.
constexpr std::uint64_t kLeastToMap = 128 << 10;

}  // namespace

MappedFile::MappedFile(File& file, Reopen reopen) : identity_(file.identity()) {
    data_ = map(file);
    size_ = file.size();
    path_ = file.path();
    File taken = std::move(file);  // closed here, unless it is kept
    reopen_ = std::move(reopen);
    if (!reopen_) file_.emplace(std::move(taken));
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

std::unique_ptr<ByteFeed> MappedFile::feed() {
    if (!file_) return Source::feed();
    return std::make_unique<WindowFeed>(*file_);
}

std::shared_ptr<OwnedBytes> MappedFile::writable_copy(std::uint64_t offset,
                                                      std::uint64_t nbytes) const {
    if (nbytes < kLeastToMap) return Source::writable_copy(offset, nbytes);
    const auto map_from = [&](const File& file) {
        file.check_unchanged(identity_);
        return OwnedBytes::map_private(file, offset, nbytes);
    };
    try {
        return file_ ? map_from(*file_) : map_from(reopen_());
    } catch (const FileError& error) {
        // No more mappings, or no descriptor: the bytes can still be copied.
        const int number = error.code().value();
        if (number != ENOMEM && number != EMFILE && number != ENFILE) throw;
        return Source::writable_copy(offset, nbytes);
    }
}

}  // namespace onnxmap::io
