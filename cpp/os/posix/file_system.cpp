#include "os/file_system.hpp"

namespace onnxmap::os {

// POSIX does not report the kind of file system, so files on the network are mapped, too.
bool on_network(int) noexcept { return false; }

// Files of the kernel have no blocks, and are on a device of their own. The rule also refuses a
// file that consists only of a hole, if a link leads to it on another device.
bool leads_to_kernel(int, const FileStatus& status, std::uint64_t root_device, const std::string&) {
    return status.blocks == 0 && status.identity.device != root_device;
}

}  // namespace onnxmap::os
