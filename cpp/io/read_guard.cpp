#include "io/read_guard.hpp"

#include <cerrno>
#include <csetjmp>

#include "io/fault_handler.hpp"
#include "io/page_covers.hpp"

namespace onnxmap::io {

namespace {

// In the first block of thread-local memory: the handler must not be the one to allocate it. (musl
// has none for libraries that are loaded later.)
#ifdef __GLIBC__
[[gnu::tls_model("initial-exec")]]
#endif
thread_local ReadGuard* innermost = nullptr;

// Where a thread goes on that runs into lost pages of a source.
struct WayOut {
    const Source& source;
    WayOut* outer;
    sigjmp_buf jump;
};
#ifdef __GLIBC__
[[gnu::tls_model("initial-exec")]]
#endif
thread_local WayOut* way_out = nullptr;

bool is_in(const Source& source, std::uintptr_t address) noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(source.data());
    return address >= begin && address - begin < source.size();
}

}  // namespace

// In a child process no page is covered any more (see page_covers), so no guard has to uncover one.
void ReadGuard::forget_covers() noexcept {
    for (ReadGuard* guard = innermost; guard != nullptr; guard = guard->outer_) {
        guard->fell_ = false;
    }
}

bool run_to_end(const Source& source, void (*work)(void*) noexcept, void* context) {
    use_fault_handler(ReadGuard::mend, ReadGuard::may_fault);
    // Where another thread has zeros in the place of pages, they would be read without a fault.
    const LostPages& lost = source.lost_pages();
    const std::uint64_t times_before = lost.times.load();
    if (lost.covered.load() != 0) return false;
    WayOut here{source, way_out, {}};
    way_out = &here;
    const bool first_time = sigsetjmp(here.jump, 0) == 0;
    if (first_time) work(context);
    way_out = here.outer;
    return first_time && lost.times.load() == times_before;
}

void fail_for_lost_bytes(const Source& source) {
    source.check_unchanged();
    if (!source.path().empty()) throw FileError(EIO, source.path());
    throw Error("file.changed", "the file behind the buffer has lost bytes that were mapped");
}

bool ReadGuard::mend(std::uintptr_t fault) noexcept {
    for (WayOut* way = way_out; way != nullptr; way = way->outer) {
        if (is_in(way->source, fault)) siglongjmp(way->jump, 1);
    }
    for (ReadGuard* guard = innermost; guard != nullptr; guard = guard->outer_) {
        if (is_in(guard->source_, fault)) {
            return cover_lost_pages(guard->source_, fault, guard->fell_);
        }
    }
    return false;
}

ReadGuard::ReadGuard(const Source& source) noexcept
    : source_(source),
      outer_(innermost),
      times_before_(source.lost_pages().times.load()),
      covered_before_(source.lost_pages().covered.load() != 0) {
    use_fault_handler(mend, may_fault);
    innermost = this;
}

ReadGuard::~ReadGuard() {
    innermost = outer_;
    if (fell_) uncover_lost_pages(source_.lost_pages());
}

void ReadGuard::check() const {
    const LostPages& lost = source_.lost_pages();
    if (!covered_before_ && lost.times.load() == times_before_) return;
    fail_for_lost_bytes(source_);
}

bool ReadGuard::may_fault() noexcept { return innermost != nullptr || way_out != nullptr; }

ReadGuard* ReadGuard::current() noexcept { return innermost; }

GuardOfCaller::GuardOfCaller(ReadGuard* guards) noexcept : before_(innermost) {
    innermost = guards;
}

GuardOfCaller::~GuardOfCaller() { innermost = before_; }

}  // namespace onnxmap::io
