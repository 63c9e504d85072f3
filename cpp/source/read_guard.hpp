// Reads mapped bytes without dying of SIGBUS. If a file was truncated, or its disk fails, touching
// a page of its mapping raises SIGBUS. A thread with a guard reads zeros from lost pages instead,
// and the guard reports an error at the end. Then the file is mapped again at that place.
//
// A thread without a guard still gets the signal, for example when NumPy reads a view. It sees
// zeros only while another thread's guard covers the same pages. Therefore code under a guard only
// reads. Copies of payload do without zeros: they are left by a jump (read_or_leave).
// os/fault_guard.hpp explains how a thread survives a lost page.
#pragma once

#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "os/fault_guard.hpp"
#include "source/source.hpp"

namespace onnxmap::source {

/// Throws Error `file.changed`, or FileError EIO if the file has not changed.
[[noreturn]] void fail_for_lost_bytes(const Source& source);

class ReadGuard {
  public:
    /// `source` must outlive the guard.
    explicit ReadGuard(const Source& source) noexcept
        : source_(source), guard_(source.guarded_region()) {}

    /// Throws Error `file.changed`, or FileError EIO, if bytes were missing since the guard was
    /// made. The caller must then discard all bytes that were read.
    void check() const {
        if (guard_.lost_bytes()) fail_for_lost_bytes(source_);
    }

  private:
    const Source& source_;
    os::FaultGuard guard_;
};

/// Calls work(), which only reads bytes of `source` and writes to memory of ours. If bytes are
/// missing, a jump leaves it in the middle, so it must make no objects, take no locks and throw
/// nothing. In that case throws what ReadGuard::check throws.
template <class Work>
void read_or_leave(const Source& source, Work&& work) {
    const auto call = [](void* context) noexcept { (*static_cast<Work*>(context))(); };
    if (!os::run_to_end(source.guarded_region(), call, &work)) fail_for_lost_bytes(source);
}

/// Calls work() under a guard and returns its result. If bytes were missing, throws that error,
/// whatever work() returned or threw.
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
        // If the file has changed, reports the change rather than a parse error: a file that was
        // cut within a page has zeros after its end.
        if (error.code != "file.changed" && source.checked_after_reading()) {
            source.check_unchanged();
        }
        throw;
    } catch (...) {
        guard.check();
        throw;
    }
}

}  // namespace onnxmap::source
