#include "io/mapped_file.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "io/window.hpp"

namespace onnxmap::io {

namespace {

const std::uint8_t* map(const File& file) {
    if (file.size() == 0) return nullptr;  // mmap of nothing is EINVAL
    void* address = ::mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (address == MAP_FAILED) throw FileError(errno, file.path());
    return static_cast<const std::uint8_t*>(address);
}

}  // namespace

MappedFile::MappedFile(File& file, Keep keep) {
    data_ = map(file);
    size_ = file.size();
    path_ = file.path();
    File taken = std::move(file);  // closed here, unless it is kept
    if (keep == Keep::descriptor) file_.emplace(std::move(taken));
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

std::unique_ptr<ByteFeed> MappedFile::feed() {
    if (!file_) return Source::feed();
    return std::make_unique<WindowFeed>(*file_);
}

}  // namespace onnxmap::io
