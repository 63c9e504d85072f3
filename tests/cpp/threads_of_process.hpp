// The threads of this process, which Linux lists.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <thread>

namespace onnxmap::test {

/// Counts the threads. If there are more than expected, it counts again for up to 0.2 s: the system
/// lists a thread for a moment after another one has joined it.
[[nodiscard]] inline std::size_t threads_of_process(std::size_t expected = 1) {
    std::thread([] {}).join();  // a sanitizer starts one with the first thread
    const auto count = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
    };
    auto counted = static_cast<std::size_t>(count());
    for (int i = 0; i < 200 && counted > expected; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        counted = static_cast<std::size_t>(count());
    }
    return counted;
}

}  // namespace onnxmap::test
