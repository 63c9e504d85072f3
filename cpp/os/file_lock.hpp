// The lock of an open file or folder. A process that ends, however it ends, gives it back.
#pragma once

#include <string>

namespace onnxmap::os {

/// Takes the lock of the object that is open as `descriptor`; never waits. Nobody else has it at
/// the same time, be it another thread, another process, or another descriptor of this thread.
/// False if one of them has it. If the file system or the kernel has no locks, nothing keeps others
/// out. Throws FileError, with `path`.
[[nodiscard]] bool try_lock(int descriptor, const std::string& path);

/// Releases the lock, also for children that a fork has made meanwhile. A lock that cannot be
/// released goes with the descriptor.
void unlock(int descriptor) noexcept;

}  // namespace onnxmap::os
