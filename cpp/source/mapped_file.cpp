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

MappedFile::MappedFile(os::File& file, const std::shared_ptr<const os::WayToFile>& way)
    : MappedFile(os::map_file(file), file, way) {}

MappedFile::MappedFile(const std::uint8_t* data, os::File& file,
                       const std::shared_ptr<const os::WayToFile>& way)
    : file_(std::move(file), way) {
    data_ = data;
    size_ = file_.identity().size;
    path_ = file_.path();
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) os::unmap(data_, size_);
}

std::unique_ptr<ByteFeed> MappedFile::feed() { return std::make_unique<WindowFeed>(file_.open()); }

std::optional<os::FileIdentity> MappedFile::identity() const { return file_.identity(); }

void MappedFile::look_for_changes() const { file_.check_unchanged(); }

void MappedFile::add_way(std::shared_ptr<const os::WayToFile> way) const {
    file_.add_way(std::move(way));
}

void MappedFile::read_file(std::uint64_t offset, std::span<std::uint8_t> out) const {
    file_.read(offset, out);
}

std::shared_ptr<OwnedBytes> MappedFile::writable_copy(std::uint64_t offset,
                                                      std::uint64_t nbytes) const {
    if (nbytes < kLeastToMap) return Source::writable_copy(offset, nbytes);
    std::shared_ptr<const os::File> file;
    try {
        file = file_.open();
    } catch (const FileError&) {
    } catch (const Error&) {}
    // No descriptor is left, or another file has the name now. A copy does not need to open the
    // file.
    if (!file) return Source::writable_copy(offset, nbytes);
    os::check_unchanged(path_, file_.identity(), file->identity_now());
    try {
        return OwnedBytes::map_private(*file, offset, nbytes);
    } catch (const FileError& error) {
        if (error.number != ENOMEM) throw;  // ENOMEM: the process has no mappings left
        return Source::writable_copy(offset, nbytes);
    }
}

}  // namespace onnxmap::source
