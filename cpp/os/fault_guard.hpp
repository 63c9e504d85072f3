// Touches lost pages of a mapping without dying of SIGBUS. A thread that has a guard reads zeros
// from a lost page, and is told afterwards that bytes were missing: source/read_guard.hpp makes an
// exception of that. The guards of a thread form a list, the innermost first.
//
// The handler is installed when the first guard is made, and passes faults that no guard covers to
// the handler that was installed before. ONNXMAP_SIGBUS_HANDLER=0 in the environment leaves out
// this handler.
#pragma once

#include <cstdint>

#include "base/no_copy.hpp"
#include "os/guarded_region.hpp"

namespace onnxmap::os {

class FaultGuard : NoCopy {
  public:
    /// The region must outlive the guard.
    explicit FaultGuard(GuardedRegion region) noexcept;
    ~FaultGuard();

    /// Whether bytes were missing since the guard was made. If so, the caller must discard all
    /// bytes that were read.
    [[nodiscard]] bool lost_bytes() const noexcept;

    /// The innermost guard of this thread, for threads that work for it: see GuardOfCaller.
    [[nodiscard]] static FaultGuard* current() noexcept;

    // For the fault handler; async-signal-safe.
    /// Mends the fault at an address, so that the instruction can run again.
    [[nodiscard]] static bool mend(std::uintptr_t fault) noexcept;
    /// Whether this thread may run into faults that can be mended.
    [[nodiscard]] static bool may_fault() noexcept;
    // For the child of a fork.
    static void forget_covers() noexcept;

  private:
    GuardedRegion region_;
    FaultGuard* outer_;
    std::uint64_t times_before_;
    bool covered_before_;
    bool fell_ = false;  // this guard is counted in LostPages::guards
};

/// Calls work(context), and leaves it by a jump if it touches a lost page of the region. Returns
/// false if work was left, or if bytes were missing meanwhile. The work must make no objects and
/// take no locks, since it may be left in the middle.
[[nodiscard]] bool run_to_end(GuardedRegion region, void (*work)(void*) noexcept, void* context);

/// Lends a thread the guards of the thread that waits for it.
class GuardOfCaller : NoCopy {
  public:
    explicit GuardOfCaller(FaultGuard* guards) noexcept;
    ~GuardOfCaller();

  private:
    FaultGuard* before_;
};

}  // namespace onnxmap::os
