#include "os/file_system.hpp"

#include <sys/mount.h>
#include <sys/param.h>

namespace onnxmap::os {

bool on_network(int descriptor) noexcept {
    struct statfs status{};
    return ::fstatfs(descriptor, &status) == 0 && (status.f_flags & MNT_LOCAL) == 0;
}

// There is no descriptor of an object that is not open, so the rule is that of POSIX.
bool leads_to_kernel(int, const FileStatus& status, std::uint64_t root_device, const std::string&) {
    return status.blocks == 0 && status.identity.device != root_device;
}

}  // namespace onnxmap::os
