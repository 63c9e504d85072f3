#include "os/file_status.hpp"

#include <fcntl.h>

#include <cerrno>
#include <climits>

#include "base/error.hpp"
#include "os/stat.hpp"

namespace onnxmap::os {

FileStatus status_of(int descriptor, const std::string& path) {
    struct stat status{};
    if (::fstat(descriptor, &status) != 0) throw FileError(errno, path);
    return status_from(status);
}

// The path of a file that was replaced may lead to the new one.
std::string path_of_open(int descriptor) {
    std::string path(PATH_MAX, '\0');
    if (::fcntl(descriptor, F_GETPATH, path.data()) != 0) return {};
    path.resize(path.find('\0'));
    struct stat open{};
    struct stat named{};
    const bool same = ::fstat(descriptor, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
                      open.st_dev == named.st_dev && open.st_ino == named.st_ino;
    return same ? path : std::string();
}

}  // namespace onnxmap::os
