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

std::string path_of_open(int descriptor) {
    std::string path(PATH_MAX, '\0');
    if (::fcntl(descriptor, F_GETPATH, path.data()) != 0) return {};
    path.resize(path.find('\0'));
    return path;
}

}  // namespace onnxmap::os
