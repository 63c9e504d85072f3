#include "os/fault_handler.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "base/no_copy.hpp"
#include "os/coarse_clock.hpp"
#include "os/early_tls.hpp"
#include "os/fault_guard.hpp"
#include "os/fault_signal.hpp"
#include "os/fork_safe_mutex.hpp"
#include "os/lost_pages.hpp"

namespace onnxmap::os {

namespace {

using Action = struct sigaction;

// The handlers that are called after ours. Published as a whole, because handlers may read it at
// any time.
struct Others {
    Action first;  // the handler before ours
    Action newer;  // a handler installed later, which calls ours next
    bool has_newer = false;
    const Others* older = nullptr;  // the chain that was published before
};
std::atomic<const Others*> others = nullptr;

// The fault that was passed on and came back.
struct PassedOn {
    const siginfo_t* info = nullptr;
    bool active = false;
    const void* address = nullptr;
    unsigned returned = 0;
};
ONNXMAP_EARLY_TLS thread_local PassedOn passed_on;

// A handler that returns without mending the fault would be called for ever, such as Python's
// faulthandler after it was disabled.
constexpr unsigned kMostReturns = 1000;

void on_fault(int number, siginfo_t* info, void* context) noexcept;

bool is_ours(const Action& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_fault;
}

bool is_function(const Action& action) noexcept {
    return (action.sa_flags & SA_SIGINFO) != 0 ||
           (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

bool same(const Action& a, const Action& b) noexcept {
    if (((a.sa_flags ^ b.sa_flags) & SA_SIGINFO) != 0) return false;
    return (a.sa_flags & SA_SIGINFO) != 0 ? a.sa_sigaction == b.sa_sigaction
                                          : a.sa_handler == b.sa_handler;
}

void die(int number, const siginfo_t* info) noexcept {
    Action fatal{};
    fatal.sa_handler = SIG_DFL;
    ::sigaction(number, &fatal, nullptr);
    // A fault happens again by itself; a sent signal must be sent again.
    if (info->si_code <= 0) ::raise(number);
}

void pass_on(int number, siginfo_t* info, void* context) noexcept {
    const Others& chain = *others.load();
    PassedOn& passed = passed_on;
    // The newer handler returns the signal to us: by a call, or by raising it again.
    const bool again = passed.active && (info == passed.info || info->si_code <= 0);
    const Action& next = chain.has_newer && !again ? chain.newer : chain.first;
    const bool is_fault = info->si_code > 0;
    if (is_fault && passed.address != info->si_addr) passed.returned = 0;
    if (!is_function(next) || passed.returned >= kMostReturns) {
        if (is_fault || next.sa_handler != SIG_IGN) die(number, info);
        return;
    }
    passed.active = true;
    passed.info = info;
    if ((next.sa_flags & SA_SIGINFO) != 0) {
        next.sa_sigaction(number, info, context);
    } else {
        next.sa_handler(number);
    }
    passed.active = false;
    passed.address = info->si_addr;
    if (is_fault) ++passed.returned;
}

void on_fault(int number, siginfo_t* info, void* context) noexcept {
    const int kept = errno;
    const bool is_fault = info->si_code > 0;
    const bool mended =
        is_fault && FaultGuard::mend(reinterpret_cast<std::uintptr_t>(info->si_addr));
    // A handler above ours, such as Python's faulthandler, raises the signal again after its own
    // work. The read faults again, too, and then arrives here by itself.
    const bool comes_again = is_raised_here(*info) && !passed_on.active && FaultGuard::may_fault();
    if (!mended && !comes_again) pass_on(number, info, context);
    errno = kept;
}

constexpr std::int64_t kLookEvery = 10;   // milliseconds
std::atomic<std::int64_t> next_look = 0;  // by the coarse clock

// If a thread blocks the signal of its own fault, the kernel kills the process despite the handler.
// Threads that block all signals, to leave them to another thread, do not intend that.
thread_local bool unblocked = false;

void unblock() noexcept {
    unblocked = true;
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGBUS);
    ::pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

enum class Wanted { unknown, yes, no };
constinit std::atomic<Wanted> wanted = Wanted::unknown;

// The variable is read once, at the first call.
bool is_wanted() noexcept {
    if (wanted.load(std::memory_order_relaxed) == Wanted::unknown) {
        const char* text = std::getenv("ONNXMAP_SIGBUS_HANDLER");
        const bool no = text != nullptr && std::strcmp(text, "0") == 0;
        Wanted before = Wanted::unknown;
        wanted.compare_exchange_strong(before, no ? Wanted::no : Wanted::yes);
    }
    return wanted.load(std::memory_order_relaxed) == Wanted::yes;
}

constinit ForkSafeMutex installing;

void put_in_front() noexcept {
    // The first threads wait until the handler is installed. Later no thread waits for another that
    // only checks.
    std::unique_lock lock(installing, std::defer_lock);
    if (others.load() == nullptr) {
        lock.lock();
    } else if (!lock.try_lock()) {
        return;
    }
    Action now{};
    if (::sigaction(SIGBUS, nullptr, &now) != 0 || is_ours(now)) return;
    const Others* const known = others.load();
    if (known == nullptr) prepare_for_lost_pages();
    // Chains are never freed: another thread may be in the handler.
    auto* const chain = new (std::nothrow) Others{};
    if (chain == nullptr) return;
    *chain = known == nullptr ? Others{now, {}, false, nullptr} : *known;
    chain->older = known;
    chain->has_newer = known != nullptr && !same(now, known->first);
    if (chain->has_newer) chain->newer = now;
    others.store(chain);
    Action ours{};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&ours.sa_mask);
    ::sigaction(SIGBUS, &ours, nullptr);
}

// Runs at the end of the process, or when the library is unloaded.
const struct RemoveAtEnd : NoCopy {
    ~RemoveAtEnd() {
        Action now{};
        const Others* const chain = others.load();
        if (chain == nullptr || ::sigaction(SIGBUS, nullptr, &now) != 0 || !is_ours(now)) return;
        ::sigaction(SIGBUS, chain->has_newer ? &chain->newer : &chain->first, nullptr);
    }
} remove_at_end;

}  // namespace

void use_fault_handler() noexcept {
    if (!is_wanted()) return;
    const bool look = next_look.load(std::memory_order_relaxed) == 0;
    if (!unblocked || look) unblock();
    const std::int64_t now = coarse_milliseconds();
    if (now < next_look.load(std::memory_order_relaxed)) return;
    put_in_front();
    next_look.store(now + kLookEvery, std::memory_order_relaxed);
}

void renew_fault_handler() noexcept { next_look.store(0, std::memory_order_relaxed); }

}  // namespace onnxmap::os
