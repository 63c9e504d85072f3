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

thread_local ThreadBudget budget_of_thread;

bool stopped(const ThreadBudget& budget) noexcept {
    return budget.stopped != nullptr && budget.stopped->load(std::memory_order_relaxed);
}

std::uint64_t ranges_of(std::uint64_t total, std::uint64_t grain) noexcept {
    return total / grain + (total % grain != 0 ? 1 : 0);
}

// How many threads may work on so many ranges, including the calling one.
std::uint64_t threads_for(std::uint64_t ranges) {
    if (ranges <= 1) return ranges;
    const std::uint64_t allowed = budget_of_thread.threads;
    return std::min<std::uint64_t>(allowed == 0 ? usable_cpus() : allowed, ranges);
}

// Calls lead() in this thread, and help() in the others of `threads`. Neither may throw.
void with_helpers(std::uint64_t threads, const std::function<void()>& help,
                  const std::function<void()>& lead) {
    const ThreadBudget budget = budget_of_thread;
    FaultGuard* const guards = FaultGuard::current();
    const auto alone = [&](const std::function<void()>& work) {
        const GuardOfCaller guarded(guards);
        const WithThreadBudget with({1, budget.stopped});
        work();
    };
    std::vector<std::jthread> helpers;
    try {
        for (std::uint64_t i = 1; i < threads; ++i) helpers.emplace_back([&] { alone(help); });
    } catch (const std::exception&) {
        // No more threads can start: the existing ones do the work, and need lead().
    }
    alone(lead);
}

// What the threads of for_each_range_in_order() share.
class RangesInOrder {
  public:
    using Work = std::function<void(std::uint64_t, std::uint64_t, std::uint64_t)>;
    using Then = std::function<void(std::uint64_t)>;

    RangesInOrder(std::uint64_t total, std::uint64_t grain, std::uint64_t slots, const Work& work,
                  const Then& then)
        : total_(total),
          grain_(grain),
          count_(ranges_of(total, grain)),
          work_(work),
          then_(then),
          is_worked_(slots) {}

    void help() noexcept {
        std::unique_lock lock(mutex_);
        while (next_ < count_) {
            if (has_room()) {
                work_on_next(lock);
            } else {
                room_.wait(lock);
            }
        }
    }

    void lead() noexcept {
        std::unique_lock lock(mutex_);
        while (!failure_ && finished_ < count_) {
            if (is_worked_[finished_ % is_worked_.size()]) {
                finish_first(lock);
            } else if (has_room()) {
                work_on_next(lock);
            } else {
                worked_.wait(lock);
            }
        }
    }

    void rethrow_failure() const {
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    [[nodiscard]] bool has_room() const noexcept {
        return next_ < std::min<std::uint64_t>(count_, finished_ + is_worked_.size());
    }

    void work_on_next(std::unique_lock<std::mutex>& lock) noexcept {
        const std::uint64_t i = next_++;
        if (next_ == count_) room_.notify_all();
        const std::uint64_t slot = i % is_worked_.size();
        unlocked(lock, [&] { work_(slot, i * grain_, std::min(total_, (i + 1) * grain_)); });
        is_worked_[slot] = true;
        worked_.notify_one();
    }

    void finish_first(std::unique_lock<std::mutex>& lock) noexcept {
        const std::uint64_t slot = finished_ % is_worked_.size();
        unlocked(lock, [&] { then_(slot); });
        is_worked_[slot] = false;
        ++finished_;
        room_.notify_one();
    }

    template <class Call>
    void unlocked(std::unique_lock<std::mutex>& lock, Call&& call) noexcept {
        lock.unlock();
        std::exception_ptr failure;
        try {
            leave_if_stopped();
            call();
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        if (!failure) return;
        if (!failure_) failure_ = failure;
        next_ = count_;
        room_.notify_all();
        worked_.notify_one();
    }

    const std::uint64_t total_;
    const std::uint64_t grain_;
    const std::uint64_t count_;
    const Work& work_;
    const Then& then_;
    std::mutex mutex_;
    std::condition_variable room_;    // for those that help: there may be another range for them
    std::condition_variable worked_;  // for the one that leads
    std::uint64_t next_ = 0;          // range that a thread takes
    std::uint64_t finished_ = 0;      // ranges
    std::vector<bool> is_worked_;     // of each slot: whether then() can be called
    std::exception_ptr failure_;
};

}  // namespace

int process_number() noexcept { return ::getpid(); }

WithThreadBudget::WithThreadBudget(ThreadBudget budget) noexcept : before_(budget_of_thread) {
    budget_of_thread = budget;
}

WithThreadBudget::~WithThreadBudget() { budget_of_thread = before_; }

bool is_stopped() noexcept { return stopped(budget_of_thread); }

bool works_for(const std::atomic<bool>& stopped) noexcept {
    return budget_of_thread.stopped == &stopped;
}

void leave_if_stopped() {
    if (is_stopped()) throw Stopped{};
}

void for_each_range(std::uint64_t total, std::uint64_t grain,
                    const std::function<void(std::uint64_t, std::uint64_t)>& work) {
    const std::uint64_t ranges = ranges_of(total, grain);
    leave_if_stopped();
    if (ranges <= 1) {
        if (total > 0) work(0, total);
        return;
    }
    std::atomic<std::uint64_t> next = 0;
    std::mutex mutex;
    std::exception_ptr failure;
    const auto take_ranges = [&] {
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
    with_helpers(threads_for(ranges), take_ranges, take_ranges);
    if (failure) std::rethrow_exception(failure);
}

void for_each_range_in_order(
    std::uint64_t total, std::uint64_t grain, std::uint64_t slots,
    const std::function<void(std::uint64_t, std::uint64_t, std::uint64_t)>& work,
    const std::function<void(std::uint64_t)>& then) {
    const std::uint64_t threads = threads_for(std::min(ranges_of(total, grain), slots));
    if (threads <= 1) {
        for (std::uint64_t begin = 0; begin < total; begin += grain) {
            leave_if_stopped();
            work(0, begin, begin + std::min(grain, total - begin));
            then(0);
        }
        return leave_if_stopped();
    }
    RangesInOrder ranges(total, grain, slots, work, then);
    with_helpers(threads, [&] { ranges.help(); }, [&] { ranges.lead(); });
    ranges.rethrow_failure();
}

void work_while_polling(ThreadBudget budget, std::chrono::milliseconds interval,
                        const std::function<void()>& work, const std::function<void()>& look) {
    std::atomic<bool> stop = false;
    budget.stopped = &stop;
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
    std::exception_ptr failure;
    FaultGuard* const guards = FaultGuard::current();
    const auto run = [&] {
        const GuardOfCaller guarded(guards);
        const WithThreadBudget with(budget);
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
