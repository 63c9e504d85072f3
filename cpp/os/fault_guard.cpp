#include "os/fault_guard.hpp"

#include <csetjmp>

#include "os/early_tls.hpp"
#include "os/fault_handler.hpp"
#include "os/zeroed_pages.hpp"

namespace onnxmap::os {

namespace {

ONNXMAP_EARLY_TLS thread_local FaultGuard* innermost = nullptr;

// The place where a thread continues after it hits lost pages of a region.
struct JumpTarget {
    GuardedRegion region;
    JumpTarget* outer;
    sigjmp_buf jump;
};
ONNXMAP_EARLY_TLS thread_local JumpTarget* jump_target = nullptr;

}  // namespace

// In a child process no page is covered any longer (see zeroed_pages), so no guard has to uncover
// one.
void FaultGuard::forget_covers() noexcept {
    for (FaultGuard* guard = innermost; guard != nullptr; guard = guard->outer_) {
        guard->fell_ = false;
    }
}

bool run_to_end(GuardedRegion region, void (*work)(void*) noexcept, void* context) {
    use_fault_handler();
    // If another thread has covered pages with zeros, they would be read without a fault.
    const LostPages& lost = *region.lost;
    const std::uint64_t times_before = lost.times.load();
    if (lost.covered.load() != 0) return false;
    JumpTarget here{region, jump_target, {}};
    jump_target = &here;
    const bool first_time = sigsetjmp(here.jump, 0) == 0;
    if (first_time) work(context);
    jump_target = here.outer;
    return first_time && lost.times.load() == times_before;
}

bool FaultGuard::mend(std::uintptr_t fault) noexcept {
    for (JumpTarget* way = jump_target; way != nullptr; way = way->outer) {
        if (way->region.contains(fault)) siglongjmp(way->jump, 1);
    }
    for (FaultGuard* guard = innermost; guard != nullptr; guard = guard->outer_) {
        if (guard->region_.contains(fault)) {
            return zero_lost_pages(guard->region_, fault, guard->fell_);
        }
    }
    return false;
}

FaultGuard::FaultGuard(GuardedRegion region) noexcept
    : region_(region),
      outer_(innermost),
      times_before_(region.lost->times.load()),
      covered_before_(region.lost->covered.load() != 0) {
    use_fault_handler();
    innermost = this;
}

FaultGuard::~FaultGuard() {
    innermost = outer_;
    if (fell_) restore_lost_pages(*region_.lost);
}

bool FaultGuard::lost_bytes() const noexcept {
    return covered_before_ || region_.lost->times.load() != times_before_;
}

bool FaultGuard::may_fault() noexcept { return innermost != nullptr || jump_target != nullptr; }

FaultGuard* FaultGuard::current() noexcept { return innermost; }

GuardOfCaller::GuardOfCaller(FaultGuard* guards) noexcept : before_(innermost) {
    innermost = guards;
}

GuardOfCaller::~GuardOfCaller() { innermost = before_; }

}  // namespace onnxmap::os
