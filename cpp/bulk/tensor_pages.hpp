// The pages of the model's file and of external files that hold the bytes of chosen tensors.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/byte_ranges.hpp"
#include "model/document.hpp"
#include "onnx/message.hpp"
#include "source/source.hpp"

namespace onnxmap::bulk {

/// Called now and then during long work. If it throws, the work ends.
using Pause = std::function<void()>;

struct ResidentBytes {
    std::uint64_t resident = 0;
    std::uint64_t total = 0;
};

/// Asks for the pages of the tensors; see source::prefetch. All functions here throw what
/// model::Document::values throws; the error has the path of a tensor that has no name.
void prefetch(const model::Document& document, std::span<const onnx::Message> tensors,
              source::Moment since, const Pause& pause);

/// Drops the pages of the tensors from the page cache; see source::evict. Headers between two
/// chosen tensors are dropped, too, since large folios are only dropped as a whole. If the tensors
/// are large, the headers are then asked for again.
void evict(const model::Document& document, std::span<const onnx::Message> tensors,
           source::Moment since, const Pause& pause);

/// How many bytes of each tensor are in memory. `absent` has the ranges of the model's own file
/// that were not in memory before the tensors were found: finding them reads their headers and
/// the pages around them.
[[nodiscard]] std::vector<ResidentBytes> residency(const model::Document& document,
                                                   std::span<const onnx::Message> tensors,
                                                   source::Moment since, const ByteRanges& absent,
                                                   const Pause& pause);

}  // namespace onnxmap::bulk
