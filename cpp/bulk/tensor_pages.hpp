// The pages of files that the bytes of chosen tensors are in, of the model or of external files.
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

/// Called now and then during long work, which ends if it throws.
using Pause = std::function<void()>;

struct ResidentBytes {
    std::uint64_t resident = 0;
    std::uint64_t total = 0;
};

/// Asks for them; see source::prefetch. All throw what model::Document::values throws, where a
/// tensor has no name with its path.
void prefetch(const model::Document& document, std::span<const onnx::Message> tensors,
              source::Moment since, const Pause& pause);

/// Gives them back; see source::evict. So are the heads of tensors between two that are chosen,
/// since large folios only go as a whole; where tensors are large, the heads are asked for again.
void evict(const model::Document& document, std::span<const onnx::Message> tensors,
           source::Moment since, const Pause& pause);

/// How many bytes of each tensor are in memory. `absent` has those of the model's own file that
/// were not, before anybody looked for the tensors: that reads their heads, and what is around.
[[nodiscard]] std::vector<ResidentBytes> residency(const model::Document& document,
                                                   std::span<const onnx::Message> tensors,
                                                   source::Moment since, const ByteRanges& absent,
                                                   const Pause& pause);

}  // namespace onnxmap::bulk
