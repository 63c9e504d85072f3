// Zeros mapped over the lost pages of a mapping while somebody reads it, and the pages put back.
// All of it is for a signal handler: plain system calls and atomics.
#pragma once

#include <cstdint>

#include "os/guarded_region.hpp"

namespace onnxmap::os {

/// Covers the page of `fault`, an address in the region; up to its end where the last page is lost,
/// too: then the file was truncated. Notes the guard that ran into it where it is the first time.
/// False where that cannot be done.
[[nodiscard]] bool cover_lost_pages(GuardedRegion region, std::uintptr_t fault,
                                    bool& fell) noexcept;

/// A guard that fell is gone; with the last one the pages of the file come back.
void uncover_lost_pages(LostPages& lost) noexcept;

// A fork holds this lock: its child must not find a cover half-made.
void lock_covers() noexcept;
void unlock_covers() noexcept;
/// For the child of a fork. Puts all pages back, because the threads that had guards are gone, and
/// unlocks.
void drop_all_covers() noexcept;

}  // namespace onnxmap::os
