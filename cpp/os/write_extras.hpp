// Calls for writing files that POSIX lacks, or that do more elsewhere.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace onnxmap::os {

/// See WriteCalls::copy.
[[nodiscard]] ssize_t copy_in_kernel(int from, off_t offset, int to, std::size_t nbytes) noexcept;

/// See WriteCalls::lock and WriteCalls::unlock.
[[nodiscard]] int lock_file(int file) noexcept;
int unlock_file(int file) noexcept;
/// Whether another open file has that lock. Shares it for a moment if none has it.
[[nodiscard]] bool is_file_locked(int file) noexcept;

/// See WriteCalls::sync.
[[nodiscard]] int sync_file(int file) noexcept;

/// See WriteCalls::rename_to_new.
[[nodiscard]] int rename_to_new(int from_folder, const char* from, int to_folder,
                                const char* to) noexcept;

}  // namespace onnxmap::os
