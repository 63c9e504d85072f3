#include "os/file_status.hpp"

#include <cerrno>

#include "base/error.hpp"
#include "os/stat.hpp"

namespace onnxmap::os {

FileStatus status_of(int descriptor, const std::string& path) {
    struct stat status{};
    if (::fstat(descriptor, &status) != 0) throw FileError(errno, path);
    return status_from(status);
}

// POSIX has no call that reports the path.
std::string path_of_open(int) { return {}; }

}  // namespace onnxmap::os
