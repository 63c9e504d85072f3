#include "os/file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "os/descriptor_pool.hpp"
#include "os/file_system.hpp"

namespace onnxmap::os {

const int File::kOpenFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

bool is_shortage(const FileError& error) noexcept {
    const int number = error.number;
    return number == EMFILE || number == ENFILE || number == ENOMEM;
}

void check_same_state(const std::string& path, const FileIdentity& before,
                      const FileIdentity& now) {
    if (now == before) return;
    std::string reason = " is no longer the file that was opened; load the model again";
    if (now.same_file(before)) {
        const std::string size = std::to_string(now.size);
        reason = now.size == before.size
                     ? " was written to after it was opened, and still has " + size + " bytes"
                     : " had " + std::to_string(before.size) +
                           " bytes when it was opened, and has " + size + " now";
    }
    fail_at("file.changed", path, reason);
}

File::File(Descriptor descriptor, std::string path)
    : descriptor_(std::move(descriptor)), path_(std::move(path)) {
    const FileStatus status = status_of(descriptor_.number(), path_);
    if (status.kind == FileKind::folder) throw FileError(EISDIR, path_);
    if (status.kind != FileKind::regular) {
        fail_at("model.not_regular", path_, " is not a regular file");
    }
    identity_ = status.identity;
}

File File::open(const std::string& path) {
    Descriptor descriptor = open_descriptor([&] { return ::open(path.c_str(), kOpenFlags); });
    if (!descriptor) throw FileError(errno, path);
    return {std::move(descriptor), path};
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
            check_same_state(path_, identity_, status().identity);
            Error error("file.changed", {Quoted(path_), " ends before its ", size(), " bytes"});
            error.file = path_;
            error.offset = offset;
            throw error;
        }
        offset += static_cast<std::uint64_t>(count);
        out = out.subspan(static_cast<std::size_t>(count));
    }
}

bool File::on_network() const noexcept { return os::on_network(descriptor()); }

}  // namespace onnxmap::os
