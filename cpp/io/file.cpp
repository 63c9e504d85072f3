#include "io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/error.hpp"

namespace onnxmap::io {

namespace {

// Source: statfs(2) and linux/magic.h; Lustre, GPFS and Ceph from their own headers.
constexpr std::array<std::uint32_t, 12> kNetworkFileSystems = {
    0x6969,      // NFS
    0xff534d42,  // CIFS
    0xfe534d42,  // SMB2
    0x517b,      // SMB
    0x65735546,  // FUSE
    0x01021997,  // 9p
    0x0bd00bd0,  // Lustre
    0x47504653,  // GPFS
    0x00c36400,  // Ceph
    0x5346414f,  // AFS
    0x6b414653,  // kAFS
    0x73757245,  // Coda
};

FileIdentity identity_of(const struct stat& status) noexcept {
    return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
            static_cast<std::uint64_t>(status.st_size),
            status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
}

}  // namespace

File::File(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) {
        const int number = errno;
        ::close(descriptor_);
        throw FileError(number, path_);
    }
    if (!S_ISREG(status.st_mode)) {
        ::close(descriptor_);
        if (S_ISDIR(status.st_mode)) throw FileError(EISDIR, path_);
        Error error("model.not_regular", quoted(path_) + " is not a regular file");
        error.file = path_;
        throw error;
    }
    identity_ = identity_of(status);
}

File File::open(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) throw FileError(errno, path);
    return {descriptor, path};
}

File File::adopt(int descriptor, std::string path) { return {descriptor, std::move(path)}; }

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      identity_(other.identity_) {}

File& File::operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(path_, other.path_);
    std::swap(identity_, other.identity_);
    return *this;
}

File::~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void File::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
    while (!out.empty()) {
        const ssize_t count =
            ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
        if (count < 0) {
            if (errno == EINTR) continue;
            throw FileError(errno, path_);
        }
        if (count == 0) {
            Error error("file.changed", quoted(path_) + " had " + std::to_string(size()) +
                                            " bytes when it was opened and is shorter now");
            error.file = path_;
            error.offset = offset;
            throw error;
        }
        offset += static_cast<std::uint64_t>(count);
        out = out.subspan(static_cast<std::size_t>(count));
    }
}

void File::check_unchanged(const FileIdentity& expected) const {
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) throw FileError(errno, path_);
    if (identity_of(status) == expected) return;
    Error error("file.changed", quoted(path_) + " is not the file any more that was opened before");
    error.file = path_;
    throw error;
}

bool File::on_network() const noexcept {
    struct statfs status{};
    if (::fstatfs(descriptor_, &status) != 0) return false;
    const auto type = static_cast<std::uint32_t>(status.f_type);
    return std::find(kNetworkFileSystems.begin(), kNetworkFileSystems.end(), type) !=
           kNetworkFileSystems.end();
}

}  // namespace onnxmap::io
