// Long work in other threads, which signals interrupt and which tells how far it is.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <cstdint>

#include "bindings/interpreter_lock.hpp"
#include "os/parallel.hpp"

namespace onnxmap::bindings {

namespace py = pybind11;

/// The interval between checks for signals and progress. Ctrl-C takes effect at once.
inline constexpr std::chrono::milliseconds kLookEvery{50};

/// Calls work(done) without the lock. It works in `threads` threads, or in as many as help if that
/// is 0, and adds to `done`. Meanwhile calls `tell`, if it is not None, with the number done.
template <class Work>
void work_and_tell(unsigned threads, const py::object& tell, Work&& work) {
    const WithoutLock unlocked;
    std::atomic<std::uint64_t> done = 0;
    os::work_while_polling(
        {threads}, kLookEvery, [&] { work(done); },
        [&] {
            const WithLock locked;
            check_signals();
            if (!tell.is_none()) tell(done.load(std::memory_order_relaxed));
        });
}

}  // namespace onnxmap::bindings
