#include "os/write_extras.hpp"

#include <cerrno>

namespace onnxmap::os {

ssize_t copy_in_kernel(int, off_t, int, std::size_t) noexcept {
    errno = ENOSYS;
    return -1;
}

int rename_to_new(int, const char*, const char*) noexcept {
    errno = ENOSYS;
    return -1;
}

}  // namespace onnxmap::os
