#include "os/descriptor_pool.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/made_once.hpp"
#include "os/fork_safe_mutex.hpp"

namespace onnxmap::os {

namespace {

struct Pool {
    ForkSafeMutex mutex;
    std::vector<PooledDescriptor*> oldest_first;
};

Pool& pool() { return made_once<Pool>(); }

}  // namespace

PooledDescriptor::~PooledDescriptor() {
    const std::lock_guard lock(pool().mutex);
    std::erase(pool().oldest_first, this);
}

std::shared_ptr<const void> PooledDescriptor::find() {
    const std::lock_guard lock(pool().mutex);
    auto& held = pool().oldest_first;
    if (open_) {
        const auto here = std::ranges::find(held, this);
        std::rotate(here, here + 1, held.end());
    }
    return open_;
}

void PooledDescriptor::keep(std::shared_ptr<const void> open) {
    std::shared_ptr<const void> closed;  // closed after the lock is released, as is `open`
    const std::lock_guard lock(pool().mutex);
    auto& held = pool().oldest_first;
    held.reserve(kMostHeldOpen);
    std::erase(held, this);
    if (held.size() == kMostHeldOpen) {
        closed = std::move(held.front()->open_);
        held.erase(held.begin());
    }
    held.push_back(this);
    open.swap(open_);
}

void close_held() {
    std::vector<std::shared_ptr<const void>> closed;
    const std::lock_guard lock(pool().mutex);
    for (PooledDescriptor* held : pool().oldest_first) closed.push_back(std::move(held->open_));
    pool().oldest_first.clear();
}

}  // namespace onnxmap::os
