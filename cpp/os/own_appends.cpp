#include "os/own_appends.hpp"

#include <atomic>
#include <map>
#include <mutex>

#include "base/made_once.hpp"
#include "os/fork_safe_mutex.hpp"

namespace onnxmap::os {

namespace {

// Each earlier state, with the newest. Appending is rare: the map stays small.
struct Appends {
    ForkSafeMutex mutex;
    std::map<FileIdentity, FileIdentity> newest;
};

Appends& appends() {
    constinit static std::atomic<Appends*> made = nullptr;
    return made_once(made);
}

}  // namespace

void note_own_append(const FileIdentity& before, const FileIdentity& after) {
    Appends& known = appends();
    const std::lock_guard lock(known.mutex);
    for (auto& [earlier, newest] : known.newest) {
        if (newest == before) newest = after;
    }
    known.newest[before] = after;
}

bool is_own_append(const FileIdentity& before, const FileIdentity& after) {
    Appends& known = appends();
    const std::lock_guard lock(known.mutex);
    const auto found = known.newest.find(before);
    return found != known.newest.end() && found->second == after;
}

}  // namespace onnxmap::os
