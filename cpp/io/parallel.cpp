#include "io/parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "io/read_guard.hpp"

namespace onnxmap::io {

unsigned usable_cpus() noexcept {
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
}

void for_each_range(std::uint64_t total, std::uint64_t grain,
                    const std::function<void(std::uint64_t, std::uint64_t)>& work) {
    const std::uint64_t ranges = total / grain + (total % grain != 0 ? 1 : 0);
    if (ranges <= 1) {
        if (total > 0) work(0, total);
        return;
    }
    std::atomic<std::uint64_t> next = 0;
    std::mutex mutex;
    std::exception_ptr failure;
    ReadGuard* const guards = ReadGuard::current();
    const auto take_ranges = [&] {
        const GuardOfCaller guarded(guards);
        try {
            for (std::uint64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < ranges;) {
                work(i * grain, std::min(total, (i + 1) * grain));
            }
        } catch (...) {
            next.store(ranges, std::memory_order_relaxed);
            const std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> helpers;
        const std::uint64_t wanted = std::min<std::uint64_t>(usable_cpus(), ranges) - 1;
        try {
            for (std::uint64_t i = 0; i < wanted; ++i) helpers.emplace_back(take_ranges);
        } catch (const std::system_error&) {
            // No more threads are to be had: those that there are do it.
        }
        take_ranges();
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace onnxmap::io
