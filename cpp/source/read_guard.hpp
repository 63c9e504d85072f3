// Reading mapped bytes without dying of it. Where a file was truncated, or its disk fails, touching
// a page of its mapping is SIGBUS. A thread that has a guard gets zeros for such pages instead, and
// the guard an error in the end, when the file is put back in their place.
//
// A thread without a guard, and so NumPy looking at a view, still gets the signal. Only while
// another thread is below a guard that ran into the very same pages does it see the zeros, too. So
// nothing is done below a guard but reading, and what reads payload does not need zeros: it is left
// by a jump (read_or_leave). os/fault_guard.hpp says how a lost page is survived.
#pragma once

#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "os/fault_guard.hpp"
#include "source/source.hpp"

namespace onnxmap::source {

/// Throws Error `file.changed`, or FileError EIO where the file is as it was.
[[noreturn]] void fail_for_lost_bytes(const Source& source);

class ReadGuard {
  public:
    /// `source` must outlive the guard.
    explicit ReadGuard(const Source& source) noexcept
        : source_(source), guard_(source.guarded_region()) {}

    /// Throws Error `file.changed`, or FileError EIO, where bytes were missing since the guard was
    /// made: whatever was read is not to be used.
    void check() const {
        if (guard_.lost_bytes()) fail_for_lost_bytes(source_);
    }

  private:
    const Source& source_;
    os::FaultGuard guard_;
};

/// Calls work(), which only reads bytes of `source` and writes to memory of ours: it makes no
/// objects, takes no locks and throws nothing, since it is left in the middle where bytes are
/// missing. Throws as ReadGuard::check does then.
template <class Work>
void read_or_leave(const Source& source, Work&& work) {
    const auto call = [](void* context) noexcept { (*static_cast<Work*>(context))(); };
    if (!os::run_to_end(source.guarded_region(), call, &work)) fail_for_lost_bytes(source);
}

/// Calls work() below a guard and returns what it returns. Where bytes were missing, that is the
/// error, whatever work() made of them.
template <class Work>
decltype(auto) guard_reads(const Source& source, Work&& work) {
    const ReadGuard guard(source);
    try {
        if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
            std::forward<Work>(work)();
            guard.check();
        } else {
            decltype(auto) result = std::forward<Work>(work)();
            guard.check();
            return result;
        }
    } catch (const Error& error) {
        guard.check();
        // Nonsense in a file that has changed is the change: a file that is cut within a page has
        // zeros behind its end.
        if (error.code != "file.changed" && source.looked_at_after_reading()) {
            source.check_unchanged();
        }
        throw;
    } catch (...) {
        guard.check();
        throw;
    }
}

}  // namespace onnxmap::source
