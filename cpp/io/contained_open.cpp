#include "io/contained_open.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "io/weak_registry.hpp"

namespace onnxmap::io {

namespace {

int open_beneath(int folder, const char* path) {
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    return static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how));
}

// Where the kernel lacks openat2 or a sandbox forbids it: one component at a time, no links.
int walk(int folder, const std::string& path) {
    int at = ::fcntl(folder, F_DUPFD_CLOEXEC, 0);
    for (std::size_t begin = 0; at >= 0 && begin < path.size();) {
        std::size_t end = path.find('/', begin);
        if (end == std::string::npos) end = path.size();
        const std::string component = path.substr(begin, end - begin);
        begin = end + 1;
        if (component.empty() || component == ".") continue;
        int next = -1;
        if (component == "..") {
            errno = EXDEV;
        } else {
            next = ::openat(at, component.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
        }
        struct stat status{};
        if (next >= 0 && ::fstat(next, &status) == 0 && S_ISLNK(status.st_mode)) {
            ::close(next);
            next = -1;
            errno = ELOOP;
        }
        const int number = errno;
        ::close(at);
        errno = number;
        at = next;
    }
    return at;
}

}  // namespace

Folder::Folder(std::string path) : path_(std::move(path)) {
    descriptor_ = ::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (descriptor_ < 0) throw FileError(errno, path_);
}

std::shared_ptr<const Folder> Folder::open_shared(const std::string& path) {
    using Key = std::tuple<dev_t, ino_t, std::string>;  // the path is what messages say
    static auto* const open_folders = new WeakRegistry<Key, const Folder>;
    auto folder = std::make_shared<const Folder>(path);
    struct stat status{};
    if (::fstat(folder->descriptor_, &status) != 0) throw FileError(errno, path);
    const Key key{status.st_dev, status.st_ino, path};
    if (auto known = open_folders->find(key)) return known;
    open_folders->note(key, folder);
    return folder;
}

Folder::~Folder() { ::close(descriptor_); }

int Folder::find(const std::string& relative_path, const std::string& full) const {
    int found = open_beneath(descriptor_, relative_path.c_str());
    if (found < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL)) {
        found = walk(descriptor_, relative_path);
    }
    if (found < 0) throw FileError(errno, full);
    return found;
}

File Folder::open(const std::string& relative_path) const {
    const std::string full = path_ + (path_.ends_with('/') ? "" : "/") + relative_path;
    const int found = find(relative_path, full);
    struct stat status{};
    const bool regular = ::fstat(found, &status) == 0 && S_ISREG(status.st_mode);
    if (!regular) {
        ::close(found);
        Error error("ext.not_regular", quoted(full) + " is not a regular file");
        error.file = full;
        throw error;
    }
    // The very file that was looked at, not its name again.
    const std::string handle = "/proc/self/fd/" + std::to_string(found);
    const int descriptor = ::open(handle.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const int number = errno;
    ::close(found);
    if (descriptor < 0) throw FileError(number, full);
    return File::adopt(descriptor, full);
}

}  // namespace onnxmap::io
