// Work on large arrays by several threads. They are started for one call and joined before it
// returns, so that none outlives it and a fork finds none.
#pragma once

#include <cstdint>
#include <functional>

namespace onnxmap::io {

/// Processors that this process may run on.
[[nodiscard]] unsigned usable_cpus() noexcept;

/// Calls work(begin, end) for ranges of at most `grain` that make up 0 .. total, in any order, by
/// as many threads as are usable and of use; the calling thread is one of them. The first exception
/// is thrown again here, once all threads have stopped.
void for_each_range(std::uint64_t total, std::uint64_t grain,
                    const std::function<void(std::uint64_t begin, std::uint64_t end)>& work);

}  // namespace onnxmap::io
