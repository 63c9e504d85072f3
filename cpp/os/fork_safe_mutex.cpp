#include "os/fork_safe_mutex.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "os/early_tls.hpp"
#include "os/fault_guard.hpp"
#include "os/zeroed_pages.hpp"

namespace onnxmap::os {

namespace {

// Set while a thread forks.
constexpr std::uint32_t kForking = 1U << 31;

// The number of threads that hold a mutex or wait for one, and the bit kForking.
constinit std::atomic<std::uint32_t> holders = 0;

ONNXMAP_EARLY_TLS thread_local std::uint32_t held = 0;  // by this thread

// A thread that holds a mutex may take another one during a fork: the fork waits for both.
void enter() noexcept {
    if (held++ > 0) return;
    std::uint32_t now = holders.load(std::memory_order_relaxed);
    while (true) {
        if ((now & kForking) != 0) {
            holders.wait(now);
            now = holders.load(std::memory_order_relaxed);
        } else if (holders.compare_exchange_weak(now, now + 1, std::memory_order_acquire)) {
            return;
        }
    }
}

void leave() noexcept {
    if (--held > 0) return;
    const std::uint32_t before = holders.fetch_sub(1, std::memory_order_release);
    if ((before & kForking) != 0) holders.notify_all();
}

// One if this thread holds a mutex. It then holds that mutex in the child, too.
std::uint32_t own() noexcept { return held > 0 ? 1 : 0; }

// The order matters: a thread that holds a mutex may read lost pages, and then needs the lock of
// the covers.
void before_fork() noexcept {
    std::uint32_t now = holders.load();
    while ((now & kForking) != 0 || !holders.compare_exchange_weak(now, now | kForking)) {
        if ((now & kForking) == 0) continue;
        holders.wait(now);  // another thread forks
        now = holders.load();
    }
    while ((now = holders.load()) != (kForking | own())) holders.wait(now);
    lock_zeroed_pages();
}

void after_fork_in_parent() noexcept {
    unlock_zeroed_pages();
    holders.fetch_and(~kForking);
    holders.notify_all();
}

void after_fork_in_child() noexcept {
    restore_all_pages();
    FaultGuard::forget_covers();
    holders.store(own());
}

[[maybe_unused]] const int installed =
    ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);

}  // namespace

void ForkSafeMutex::lock() {
    enter();
    mutex_.lock();
}

bool ForkSafeMutex::try_lock() {
    enter();
    const bool locked = mutex_.try_lock();
    if (!locked) leave();
    return locked;
}

void ForkSafeMutex::unlock() {
    mutex_.unlock();
    leave();
}

}  // namespace onnxmap::os
