#include "os/file_system.hpp"

#include <sys/mount.h>
#include <sys/param.h>

#include <cerrno>
#include <string_view>

#include "base/error.hpp"

namespace onnxmap::os {

bool on_network(int descriptor) noexcept {
    struct statfs status{};
    return ::fstatfs(descriptor, &status) == 0 && (status.f_flags & MNT_LOCAL) == 0;
}

bool leads_to_kernel(int descriptor, const FileStatus&, std::uint64_t, const std::string& path) {
    struct statfs status{};
    // If the system does not report the kind, the file could be one.
    if (::fstatfs(descriptor, &status) != 0) throw FileError(errno, path);
    const std::string_view kind = status.f_fstypename;
    return kind == "devfs" || kind == "fdesc";
}

}  // namespace onnxmap::os
