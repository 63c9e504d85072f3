// Works by name: POSIX has no descriptor that refers to an object without opening it. fstatat()
// examines the object, and a later open compares its result with that status.
#include "os/found_object.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

#include "base/error.hpp"
#include "os/descriptor_pool.hpp"
#include "os/stat.hpp"

namespace onnxmap::os {

namespace {

// Needs permission to list the folder, unlike O_PATH.
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK;

int number_of(const std::shared_ptr<const Descriptor>& folder) noexcept {
    return folder ? folder->number() : AT_FDCWD;
}

FileStatus look_at(int folder, const std::string& name, AtLink at_link, const std::string& path) {
    const int flags = at_link == AtLink::the_link ? AT_SYMLINK_NOFOLLOW : 0;
    struct stat status{};
    if (::fstatat(folder, name.c_str(), &status, flags) != 0) throw FileError(errno, path);
    return status_from(status);
}

}  // namespace

FoundObject::FoundObject(std::shared_ptr<const Descriptor> folder, std::string name, AtLink at_link,
                         const std::string& path)
    : folder_(std::move(folder)),
      name_(std::move(name)),
      at_link_(at_link),
      status_(look_at(number_of(folder_), name_, at_link, path)) {}

std::string FoundObject::link_target() const {
    std::string target(PATH_MAX, '\0');
    const ssize_t count =
        ::readlinkat(number_of(folder_), name_.c_str(), target.data(), target.size());
    // EINVAL: the object with this name is no longer a link, so the link that was found is gone.
    if (count < 0) throw FileError(errno == EINVAL ? ENOENT : errno, name_);
    target.resize(static_cast<std::size_t>(count));
    return target;
}

// It may be another folder now, but not a link, so it is in folder_.
std::shared_ptr<const Descriptor> FoundObject::open_folder() {
    if (status_.kind != FileKind::folder) throw FileError(ENOTDIR, name_);
    Descriptor opened = open_descriptor(
        [&] { return ::openat(number_of(folder_), name_.c_str(), kFolderFlags | O_NOFOLLOW); });
    if (!opened) throw FileError(errno, name_);
    return std::make_shared<const Descriptor>(std::move(opened));
}

std::optional<File> FoundObject::open_itself(const std::string&) const { return std::nullopt; }

std::optional<FoundObject> find_beneath(std::shared_ptr<const Descriptor>, const std::string&,
                                        Beneath, const std::string&) {
    return std::nullopt;
}

Descriptor open_folder(const std::string& path) {
    Descriptor opened = open_descriptor([&] { return ::open(path.c_str(), kFolderFlags); });
    if (!opened) throw FileError(errno, path);
    return opened;
}

}  // namespace onnxmap::os
