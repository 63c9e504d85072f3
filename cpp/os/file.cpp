#include "os/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "os/descriptor_pool.hpp"

namespace onnxmap::os {

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

std::int64_t nanoseconds(const struct statx_timestamp& time) noexcept {
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileIdentity identity_of(int descriptor, const std::string& path) {
    struct statx status{};
    if (::statx(descriptor, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &status) != 0) {
        throw FileError(errno, path);
    }
    const bool has_birth = (status.stx_mask & STATX_BTIME) != 0;
    return {gnu_dev_makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino,
            status.stx_size, nanoseconds(status.stx_mtime),
            has_birth ? nanoseconds(status.stx_btime) : 0};
}

bool is_shortage(const FileError& error) noexcept {
    const int number = error.code().value();
    return number == EMFILE || number == ENFILE || number == ENOMEM;
}

std::string path_of_open(int descriptor) {
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    std::string path(PATH_MAX, '\0');
    const ssize_t count = ::readlink(link.c_str(), path.data(), path.size());
    path.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return path;
}

void check_unchanged(const std::string& path, const FileIdentity& before, const FileIdentity& now) {
    if (now == before) return;
    std::string message = quoted(path);
    if (!now.same_file(before)) {
        message += " is not the file any more that was opened before";
    } else if (now.size == before.size) {
        message += " was written to after it was opened; it still has " + std::to_string(now.size) +
                   " bytes";
    } else {
        message += " had " + std::to_string(before.size) + " bytes when it was opened, and has " +
                   std::to_string(now.size) + " now";
    }
    Error error("file.changed", message);
    error.file = path;
    throw error;
}

File::File(Descriptor descriptor, std::string path)
    : descriptor_(std::move(descriptor)), path_(std::move(path)) {
    struct stat status{};
    if (::fstat(descriptor_.number(), &status) != 0) throw FileError(errno, path_);
    if (!S_ISREG(status.st_mode)) {
        if (S_ISDIR(status.st_mode)) throw FileError(EISDIR, path_);
        Error error("model.not_regular", quoted(path_) + " is not a regular file");
        error.file = path_;
        throw error;
    }
    identity_ = identity_of(descriptor_.number(), path_);
}

File File::open(const std::string& path) {
    Descriptor descriptor = open_descriptor([&] { return ::open(path.c_str(), kReadFlags); });
    if (!descriptor) throw FileError(errno, path);
    return {std::move(descriptor), path};
}

std::optional<File> File::open_found(const Descriptor& found, const std::string& path) {
    const std::string handle = "/proc/self/fd/" + std::to_string(found.number());
    Descriptor opened = open_descriptor([&] { return ::open(handle.c_str(), kReadFlags); });
    if (opened) return File(std::move(opened), path);
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw FileError(errno, path);
}

void File::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
    while (!out.empty()) {
        const ssize_t count =
            ::pread(descriptor(), out.data(), out.size(), static_cast<off_t>(offset));
        if (count < 0) {
            if (errno == EINTR) continue;
            throw FileError(errno, path_);
        }
        if (count == 0) {
            check_unchanged(path_, identity_, identity_now());
            Error error("file.changed",
                        quoted(path_) + " ends before its " + std::to_string(size()) + " bytes");
            error.file = path_;
            error.offset = offset;
            throw error;
        }
        offset += static_cast<std::uint64_t>(count);
        out = out.subspan(static_cast<std::size_t>(count));
    }
}

FileIdentity File::identity_now() const { return identity_of(descriptor(), path_); }

bool File::has_hard_links() const {
    struct stat status{};
    if (::fstat(descriptor(), &status) != 0) throw FileError(errno, path_);
    return status.st_nlink > 1;
}

bool File::on_network() const noexcept {
    struct statfs status{};
    if (::fstatfs(descriptor(), &status) != 0) return false;
    const auto type = static_cast<std::uint32_t>(status.f_type);
    return std::find(kNetworkFileSystems.begin(), kNetworkFileSystems.end(), type) !=
           kNetworkFileSystems.end();
}

}  // namespace onnxmap::os
