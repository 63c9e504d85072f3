// Work on large arrays by several threads. They are started for one call and joined before it
// returns, so that none outlives it and a fork finds none.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace onnxmap::os {

/// Processors that this process may run on.
[[nodiscard]] unsigned usable_cpus() noexcept;

/// Another number in the child of a fork, which has none of its parent's threads.
[[nodiscard]] int process_number() noexcept;

/// How much may be spent on the parallel work that a thread begins.
struct Effort {
    unsigned threads = 0;                        // 0: as many as processors are usable
    const std::atomic<bool>* stopped = nullptr;  // whether nobody wants the result any more
};

/// Thrown by for_each_range where nobody wants the result any more.
struct Stopped {};

/// While one lives, parallel work of this thread is done with that effort.
class WithEffort {
  public:
    explicit WithEffort(Effort effort) noexcept;
    ~WithEffort();
    WithEffort(const WithEffort&) = delete;
    WithEffort& operator=(const WithEffort&) = delete;

  private:
    Effort before_;
};

/// Whether nobody wants the result of this thread's work any more.
[[nodiscard]] bool is_stopped() noexcept;

/// Whether this thread works for the effort that ends by `stopped`.
[[nodiscard]] bool works_for(const std::atomic<bool>& stopped) noexcept;

/// Throws Stopped where nobody wants the result of this thread's work any more.
void leave_if_stopped();

/// Calls work(begin, end) for ranges of at most `grain` that make up 0 .. total, in any order, by
/// as many threads as are allowed and of use; the calling thread is one of them. What work() itself
/// does in parallel is done by the thread that it is called in. The first exception is thrown again
/// here, once all threads have stopped. Throws Stopped.
void for_each_range(std::uint64_t total, std::uint64_t grain,
                    const std::function<void(std::uint64_t begin, std::uint64_t end)>& work);

/// Calls work() in another thread, with `effort`, and meanwhile look() in this one, again and again
/// after `interval`. Where look() throws, the work is stopped, waited for, and that is thrown;
/// otherwise what work() throws. `effort.stopped` is not looked at.
void work_while_looking(Effort effort, std::chrono::milliseconds interval,
                        const std::function<void()>& work, const std::function<void()>& look);

}  // namespace onnxmap::os
