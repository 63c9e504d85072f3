// Works on large arrays with several threads. They are started for one call and joined before it
// returns, so no thread outlives the call and a fork finds none.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "base/no_copy.hpp"

namespace onnxmap::os {

/// A number that identifies the process: it is different in the child of a fork, which has none of
/// its parent's threads.
[[nodiscard]] int process_number() noexcept;

/// The limits of the parallel work that a thread starts.
struct ThreadBudget {
    unsigned threads = 0;                        // 0: as many as processors are usable
    const std::atomic<bool>* stopped = nullptr;  // set when the result is no longer wanted
};

/// Thrown by for_each_range if the result is no longer wanted.
struct Stopped {};

/// While an object of this class exists, this thread's parallel work has that budget.
class WithThreadBudget : NoCopy {
  public:
    explicit WithThreadBudget(ThreadBudget budget) noexcept;
    ~WithThreadBudget();

  private:
    ThreadBudget before_;
};

/// Whether the result of this thread's work is no longer wanted.
[[nodiscard]] bool is_stopped() noexcept;

/// Whether the flag of this thread's ThreadBudget is `stopped`.
[[nodiscard]] bool works_for(const std::atomic<bool>& stopped) noexcept;

/// Throws Stopped if the result of this thread's work is no longer wanted.
void leave_if_stopped();

/// Calls work(begin, end) for ranges of at most `grain` that make up 0 .. total, in any order. Uses
/// as many threads as are allowed and help, including the calling thread. Parallel work that work()
/// starts is done by the thread that called work(). The first exception is thrown again here after
/// all threads have stopped. Throws Stopped.
void for_each_range(std::uint64_t total, std::uint64_t grain,
                    const std::function<void(std::uint64_t begin, std::uint64_t end)>& work);

/// Calls work(slot, begin, end) for the ranges of for_each_range(), and then(slot) once for each of
/// them: in the calling thread, in order. Between the two calls for a range, its `slot`, a number
/// below `slots`, is that range's alone; so other threads work ahead by `slots` ranges at most.
/// With one slot or one range, none does, and both functions may start threads of their own;
/// otherwise, parallel work that they start is done by the thread that called them. Throws as
/// for_each_range().
void for_each_range_in_order(
    std::uint64_t total, std::uint64_t grain, std::uint64_t slots,
    const std::function<void(std::uint64_t slot, std::uint64_t begin, std::uint64_t end)>& work,
    const std::function<void(std::uint64_t slot)>& then);

/// Calls work() in another thread with `budget`, and meanwhile look() in this thread, once per
/// `interval`. If look() throws, stops the work, waits for it and rethrows that exception;
/// otherwise throws what work() throws. `budget.stopped` is ignored.
void work_while_polling(ThreadBudget budget, std::chrono::milliseconds interval,
                        const std::function<void()>& work, const std::function<void()>& look);

}  // namespace onnxmap::os
