// The pages of the model's file and of external files that hold the bytes of chosen tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/byte_ranges.hpp"
#include "model/document.hpp"
#include "model/initializers.hpp"

namespace onnxmap::bulk {

/// Called now and then during long work. If it throws, the work ends.
using Pause = std::function<void()>;

struct ResidentBytes {
    std::uint64_t resident = 0;
    std::uint64_t total = 0;
};

// The functions check for changed files first. `positions`: in the list of initializers. They throw
// what model::Tensor::values throws, and Error `edit.concurrent`.

/// Asks for the pages of the tensors; see source::prefetch.
void prefetch(const model::Initializers& initializers, std::span<const std::uint32_t> positions,
              const Pause& pause);

/// Drops the pages of the tensors from the page cache; see source::evict. Headers between two
/// chosen tensors are dropped, too, since large folios are only dropped as a whole. If the tensors
/// are large, the headers are then asked for again.
void evict(const model::Initializers& initializers, std::span<const std::uint32_t> positions,
           const Pause& pause);

/// The ranges of the model's own file that are not in memory.
[[nodiscard]] ByteRanges absent_ranges(const model::Document& document);

/// How many bytes of each tensor are in memory. `absent` has the ranges of the model's own file
/// that were not in memory before the tensors were found: finding them reads their headers and the
/// pages around them.
[[nodiscard]] std::vector<ResidentBytes> residency(const model::Initializers& initializers,
                                                   std::span<const std::uint32_t> positions,
                                                   const ByteRanges& absent, const Pause& pause);

}  // namespace onnxmap::bulk
