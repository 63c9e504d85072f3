// Keeps out other saves and appends while names change.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/no_copy.hpp"
#include "os/output_folder.hpp"

namespace onnxmap::save {

/// How long a lock is waited for. Those who have it need it for far less.
inline constexpr std::chrono::milliseconds kLockPatience{30'000};

/// Calls try_lock() until it returns true. Calls look() between, and throws what that throws. After
/// `patience` throws Error `save.locked` about `path`.
void wait_for_lock(const std::function<bool()>& try_lock, const std::function<void()>& look,
                   std::chrono::milliseconds patience, const std::string& path);

/// The locks of some folders, which other processes respect that use onnxmap. On a file system
/// without locks, there is nothing that keeps them out.
class FolderLocks : NoCopy {
  public:
    /// Gives the locks back.
    ~FolderLocks();

    /// Waits for the lock of each folder, in an order that is the same for all who wait, so that
    /// they never wait for each other. Each folder stands once. Throws what wait_for_lock() throws,
    /// and FileError, with `path`.
    void take(std::vector<const os::OutputFolder*> folders, const std::function<void()>& look,
              std::chrono::milliseconds patience, const std::string& path);

  private:
    std::vector<const os::OutputFolder*> locked_;
};

}  // namespace onnxmap::save
