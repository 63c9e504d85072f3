#include "os/found_object.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "os/descriptor_pool.hpp"

namespace onnxmap::os {

std::optional<File> FoundObject::open_by_name(const std::string& path) const {
    const int flags = File::kOpenFlags | (at_link_ == AtLink::the_link ? O_NOFOLLOW : 0);
    const int folder = folder_ ? folder_->number() : AT_FDCWD;
    Descriptor opened = open_descriptor([&] { return ::openat(folder, name_.c_str(), flags); });
    if (!opened && errno == ELOOP) return std::nullopt;
    if (!opened) throw FileError(errno, path);
    if (!status_of(opened.number(), path).identity.same_file(status_.identity)) return std::nullopt;
    return File(std::move(opened), path);
}

std::optional<FileStatus> object_at(const std::string& path, AtLink at_link) {
    return if_possible([&] { return FoundObject(path, at_link).status(); });
}

std::optional<std::string> link_target(const std::string& path) {
    std::array<char, PATH_MAX> target;  // not from the heap, which could change errno
    const ssize_t count = ::readlink(path.c_str(), target.data(), target.size());
    if (count < 0) return std::nullopt;
    return std::string(target.data(), static_cast<std::size_t>(count));
}

bool is_folder(const std::string& path) noexcept {
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string real_path_of(const std::string& path) {
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr),
                                                      &std::free);
    return real ? std::string(real.get()) : std::string();
}

}  // namespace onnxmap::os
