// Reads many tensors into fresh arrays, by several threads: large ones in pieces, small neighbours
// together. By system calls and not through mappings: a copy needs no page of the file in this
// process, and a file that was truncated is an error.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bulk/plan.hpp"
#include "bulk/read_ahead.hpp"
#include "source/slabs.hpp"

namespace onnxmap::bulk {

/// Is told of the pages begin .. end of the file of an item that are asked for because they are not
/// in memory; by any thread.
using OnAbsent = std::function<void(const Item& item, std::uint64_t begin, std::uint64_t end)>;

/// The arrays' bytes, one for each item; none for what is a view or text. `items` is a part of the
/// plan's. Without `on_absent`, pages that are not in memory are touched in order if the system's
/// read-ahead is large, and stay in the page cache. `done` grows by the bytes that are there.
/// As much is done at a time as the effort of this thread allows (os::WithEffort). Throws Error
/// `tensor.*`, `file.changed`, FileError, std::bad_alloc and os::Stopped.
[[nodiscard]] std::vector<source::Place> read_items(
    const Plan& plan, std::span<const Item> items, std::atomic<std::uint64_t>& done,
    const OnAbsent& on_absent = {}, ReadAhead::Of read_ahead_of = &source::read_ahead_nbytes);

}  // namespace onnxmap::bulk
