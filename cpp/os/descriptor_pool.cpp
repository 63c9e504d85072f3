#include "os/descriptor_pool.hpp"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "base/made_once.hpp"
#include "os/fork_safe_mutex.hpp"

namespace onnxmap::os {

namespace {

struct Pool {
    ForkSafeMutex mutex;
    std::list<HeldOpen*> newest_first;
};

constinit std::atomic<Pool*> shared_pool = nullptr;

Pool& pool() { return made_once(shared_pool); }

}  // namespace

HeldOpen::~HeldOpen() {
    const std::lock_guard lock(pool().mutex);
    if (open_) pool().newest_first.erase(place_);
}

std::shared_ptr<const void> HeldOpen::find() {
    const std::lock_guard lock(pool().mutex);
    if (open_) pool().newest_first.splice(pool().newest_first.begin(), pool().newest_first, place_);
    return open_;
}

void HeldOpen::keep(std::shared_ptr<const void> open) {
    std::shared_ptr<const void> closed;  // destroyed after the lock is released
    const std::lock_guard lock(pool().mutex);
    auto& held = pool().newest_first;
    if (open_) {
        held.splice(held.begin(), held, place_);
        closed = std::exchange(open_, std::move(open));
        return;
    }
    if (held.size() >= kMostHeldOpen) {
        closed = std::move(held.back()->open_);
        held.back()->open_ = nullptr;
        held.pop_back();
    }
    held.push_front(this);
    open_ = std::move(open);
    place_ = held.begin();
}

void close_held() {
    std::vector<std::shared_ptr<const void>> closed;
    const std::lock_guard lock(pool().mutex);
    for (HeldOpen* held : pool().newest_first) closed.push_back(std::exchange(held->open_, {}));
    pool().newest_first.clear();
}

}  // namespace onnxmap::os
