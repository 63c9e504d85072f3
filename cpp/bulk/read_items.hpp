// Reads many tensors into fresh arrays, with several threads: large tensors in parts, small
// ones in batches. Uses read calls, not mappings: a copy then maps no page of the file in this
// process, and a truncated file is an error.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "bulk/plan.hpp"
#include "source/slabs.hpp"

namespace onnxmap::bulk {

/// Called with the pages begin .. end of an item's file that are asked for because they are not in
/// memory. Any thread may call it.
using OnAbsent = std::function<void(const Item& item, std::uint64_t begin, std::uint64_t end)>;

/// The memory of each item's array; empty for a view or text. `items` is a part of the plan's.
/// Pages that are read stay in the page cache. `done` grows by the bytes that are read. The
/// budget of this thread sets the number of threads (os::WithThreadBudget). Throws Error
/// `tensor.*`, `file.changed`, FileError, std::bad_alloc and os::Stopped.
[[nodiscard]] std::vector<source::ArrayMemory> read_items(const Plan& plan,
                                                          std::span<const Item> items,
                                                          std::atomic<std::uint64_t>& done,
                                                          const OnAbsent& on_absent = {});

}  // namespace onnxmap::bulk
