#include "os/parallel.hpp"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "os/fault_guard.hpp"
#include "os/processors.hpp"

namespace onnxmap::os {

namespace {

thread_local Effort effort_of_thread;

bool stopped(const Effort& effort) noexcept {
    return effort.stopped != nullptr && effort.stopped->load(std::memory_order_relaxed);
}

}  // namespace

int process_number() noexcept { return ::getpid(); }

WithEffort::WithEffort(Effort effort) noexcept : before_(effort_of_thread) {
    effort_of_thread = effort;
}

WithEffort::~WithEffort() { effort_of_thread = before_; }

bool is_stopped() noexcept { return stopped(effort_of_thread); }

bool works_for(const std::atomic<bool>& stopped) noexcept {
    return effort_of_thread.stopped == &stopped;
}

void leave_if_stopped() {
    if (is_stopped()) throw Stopped{};
}

void for_each_range(std::uint64_t total, std::uint64_t grain,
                    const std::function<void(std::uint64_t, std::uint64_t)>& work) {
    const std::uint64_t ranges = total / grain + (total % grain != 0 ? 1 : 0);
    leave_if_stopped();
    if (ranges <= 1) {
        if (total > 0) work(0, total);
        return;
    }
    const Effort effort = effort_of_thread;
    std::atomic<std::uint64_t> next = 0;
    std::mutex mutex;
    std::exception_ptr failure;
    FaultGuard* const guards = FaultGuard::current();
    const auto take_ranges = [&] {
        const GuardOfCaller guarded(guards);
        const WithEffort alone({1, effort.stopped});
        try {
            for (std::uint64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < ranges;) {
                leave_if_stopped();
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
        const std::uint64_t allowed = effort.threads == 0 ? usable_cpus() : effort.threads;
        const std::uint64_t helper_count = std::min(allowed, ranges) - 1;
        try {
            for (std::uint64_t i = 0; i < helper_count; ++i) helpers.emplace_back(take_ranges);
        } catch (const std::system_error&) {
            // No more threads can start: the existing ones do the work.
        }
        take_ranges();
    }
    if (failure) std::rethrow_exception(failure);
}

void work_while_looking(Effort effort, std::chrono::milliseconds interval,
                        const std::function<void()>& work, const std::function<void()>& look) {
    std::atomic<bool> stop = false;
    effort.stopped = &stop;
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
    std::exception_ptr failure;
    FaultGuard* const guards = FaultGuard::current();
    const auto run = [&] {
        const GuardOfCaller guarded(guards);
        const WithEffort with(effort);
        try {
            work();
        } catch (...) {
            failure = std::current_exception();
        }
        const std::lock_guard lock(mutex);
        done = true;
        ended.notify_one();
    };
    std::exception_ptr interruption;
    {
        std::jthread worker;
        try {
            worker = std::jthread(run);
        } catch (const std::system_error&) {
            run();  // no thread can start
        }
        const int process = process_number();
        std::unique_lock lock(mutex);
        while (!ended.wait_for(lock, interval, [&] { return done; })) {
            lock.unlock();
            try {
                look();
            } catch (...) {
                interruption = std::current_exception();
                stop.store(true, std::memory_order_relaxed);
            }
            if (process_number() != process) {
                // A signal handler forked. This is the child, which has no worker to join.
                static_cast<void>(new std::jthread(std::move(worker)));
                if (interruption) std::rethrow_exception(interruption);
                throw std::runtime_error(
                    "the process was forked during this call; repeat the call in the child");
            }
            lock.lock();
            if (interruption) ended.wait(lock, [&] { return done; });
        }
    }
    if (interruption) std::rethrow_exception(interruption);
    if (failure) std::rethrow_exception(failure);
}

}  // namespace onnxmap::os
