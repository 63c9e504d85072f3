#include "save/folder_locks.hpp"

#include <algorithm>
#include <thread>

#include "base/error.hpp"
#include "os/file_lock.hpp"

namespace onnxmap::save {

void wait_for_lock(const std::function<bool()>& try_lock, const std::function<void()>& look,
                   std::chrono::milliseconds patience, const std::string& path) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kPause{1};
    const Clock::time_point end = Clock::now() + patience;
    while (!try_lock()) {
        look();
        if (Clock::now() >= end) {
            fail_at("save.locked", path,
                    " or its folder is locked by another program; try again later");
        }
        std::this_thread::sleep_for(kPause);
    }
}

FolderLocks::~FolderLocks() {
    for (const os::OutputFolder* folder : locked_) os::unlock(folder->descriptor());
}

void FolderLocks::take(std::vector<const os::OutputFolder*> folders,
                       const std::function<void()>& look, std::chrono::milliseconds patience,
                       const std::string& path) {
    std::sort(folders.begin(), folders.end(), [](const auto* one, const auto* other) {
        return one->identity() < other->identity();
    });
    locked_.reserve(folders.size());
    for (const os::OutputFolder* folder : folders) {
        wait_for_lock([&] { return os::try_lock(folder->descriptor(), path); }, look, patience,
                      path);
        locked_.push_back(folder);
    }
}

}  // namespace onnxmap::save
