// Reads many tensors into fresh arrays, by several threads: large ones in pieces, small neighbours
// together. By system calls and not through mappings: a copy needs no page of the file in this
// process, and a file that was truncated is an error.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "io/slabs.hpp"
#include "model/bulk_plan.hpp"

namespace onnxmap::model {

/// The arrays' bytes, one for each item; none for what is a view or text. `items` is a part of the
/// plan's. `done` grows by the bytes that are there. As much is done at a time as the effort of
/// this thread allows (io::WithEffort). Throws Error `tensor.*`, `file.changed`, FileError,
/// std::bad_alloc and io::Stopped.
[[nodiscard]] std::vector<io::Place> read_items(const BulkPlan& plan,
                                                std::span<const BulkItem> items,
                                                std::atomic<std::uint64_t>& done);

}  // namespace onnxmap::model
