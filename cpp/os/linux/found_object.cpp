// Uses O_PATH descriptors, which refer to an object without opening it.
#include "os/found_object.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

#include "base/error.hpp"
#include "os/descriptor_pool.hpp"

namespace onnxmap::os {

namespace {

constexpr int kFind = O_PATH | O_CLOEXEC;

Descriptor find(const Descriptor* folder, const std::string& name, int flags,
                const std::string& path) {
    const int number = folder != nullptr ? folder->number() : AT_FDCWD;
    Descriptor found =
        open_descriptor([&] { return ::openat(number, name.c_str(), kFind | flags); });
    if (!found) throw FileError(errno, path);
    return found;
}

}  // namespace

FoundObject::FoundObject(std::shared_ptr<const Descriptor> folder, std::string name, AtLink at_link,
                         const std::string& path)
    : handle_(find(folder.get(), name, at_link == AtLink::the_link ? O_NOFOLLOW : 0, path)),
      folder_(std::move(folder)),
      name_(std::move(name)),
      at_link_(at_link),
      status_(status_of(handle_.number(), path)) {}

FoundObject::FoundObject(Descriptor handle, std::shared_ptr<const Descriptor> folder,
                         std::string name, AtLink at_link, const std::string& path)
    : handle_(std::move(handle)),
      folder_(std::move(folder)),
      name_(std::move(name)),
      at_link_(at_link),
      status_(status_of(handle_.number(), path)) {}

std::string FoundObject::link_target() const {
    std::string target(PATH_MAX, '\0');
    const ssize_t count = ::readlinkat(handle_.number(), "", target.data(), target.size());
    if (count < 0) throw FileError(errno, name_);
    target.resize(static_cast<std::size_t>(count));
    return target;
}

std::shared_ptr<const Descriptor> FoundObject::open_folder() {
    if (status_.kind != FileKind::folder) throw FileError(ENOTDIR, name_);
    return std::make_shared<const Descriptor>(std::move(handle_));
}

// Nothing if there is no /proc.
std::optional<File> FoundObject::open_itself(const std::string& path) const {
    const std::string handle = "/proc/self/fd/" + std::to_string(handle_.number());
    Descriptor opened = open_descriptor([&] { return ::open(handle.c_str(), File::kOpenFlags); });
    if (opened) return File(std::move(opened), path);
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw FileError(errno, path);
}

std::optional<FoundObject> find_beneath(std::shared_ptr<const Descriptor> folder,
                                        const std::string& name, Beneath beneath,
                                        const std::string& path) {
    open_how how{};
    how.flags = kFind;
    if (!beneath.leaves_folder) how.resolve |= RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    if (!beneath.follows_links) how.resolve |= RESOLVE_NO_SYMLINKS;
    Descriptor found = open_descriptor([&] {
        return static_cast<int>(
            ::syscall(SYS_openat2, folder->number(), name.c_str(), &how, sizeof how));
    });
    if (!found) return std::nullopt;
    return FoundObject(std::move(found), std::move(folder), name, AtLink::its_target, path);
}

Descriptor open_folder(const std::string& path) { return find(nullptr, path, O_DIRECTORY, path); }

}  // namespace onnxmap::os
