// Statistics of the values of many tensors, in bounded memory. Several threads read and sum large
// tensors in blocks, and small ones in batches.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "compare/stats_plan.hpp"

namespace onnxmap::compare {

/// The plan's results with the statistics of all values, but for strings. They do not depend on the
/// number of threads, which the budget of this thread sets (os::WithThreadBudget). `done` grows to
/// plan.nbytes(). Each thread needs a buffer, or has some MiB mapped; typed fields and segments are
/// decoded one tensor at a time. Throws Error `tensor.*`, `file.changed`, FileError, std::bad_alloc
/// and os::Stopped.
[[nodiscard]] std::vector<TensorStats> read_stats(const StatsPlan& plan,
                                                  std::atomic<std::uint64_t>& done);

}  // namespace onnxmap::compare
