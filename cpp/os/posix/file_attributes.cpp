#include "os/file_attributes.hpp"

#include <cerrno>

namespace onnxmap::os {

// POSIX has no such attributes.
std::optional<std::vector<FileAttribute>> attributes_of(int) {
    return std::vector<FileAttribute>();
}

int set_attribute(int, const char*, const void*, std::size_t) {
    errno = ENOSYS;
    return -1;
}

int remove_attribute(int, const char*) {
    errno = ENOSYS;
    return -1;
}

}  // namespace onnxmap::os
