#include "os/fault_handler.hpp"

#include <unistd.h>
#include <ctime>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "os/fork_safe_mutex.hpp"

namespace onnxmap::os {

namespace {

using Action = struct sigaction;

// A handler must not be the one to allocate thread-local memory. (musl has this only for what is
// linked with the program.)
#ifdef __GLIBC__
#define ONNXMAP_EARLY_TLS [[gnu::tls_model("initial-exec")]]
#else
#define ONNXMAP_EARLY_TLS
#endif

// Whose turn it is after us. Published as a whole: handlers read it at any time.
struct Others {
    Action first;  // what there was before us
    Action newer;  // what was installed since, and knows us as the one before it
    bool has_newer = false;
    const Others* older = nullptr;  // what was published before
};
std::atomic<const Others*> others = nullptr;
std::atomic<MendFault> mend_fault = nullptr;
std::atomic<MayFault> may_fault_here = nullptr;

// The fault that was passed on and came back.
struct PassedOn {
    const siginfo_t* info = nullptr;
    bool active = false;
    const void* address = nullptr;
    unsigned returned = 0;
};
ONNXMAP_EARLY_TLS thread_local PassedOn passed_on;

// A handler that returns without mending anything, as Python's faulthandler does once it is
// disabled, would be called for ever.
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
    // A fault happens again by itself; what was sent has to be sent again.
    if (info->si_code <= 0) ::raise(number);
}

void pass_on(int number, siginfo_t* info, void* context) noexcept {
    const Others& chain = *others.load();
    PassedOn& passed = passed_on;
    // The newer one hands on to us what it got from us: by a call, or by raising it again.
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
        is_fault && mend_fault.load()(reinterpret_cast<std::uintptr_t>(info->si_addr));
    // A handler above ours, like Python's faulthandler, raises the signal again once it has done
    // its part. The read faults again, too, and then comes here by itself.
    const bool comes_again = info->si_code == SI_TKILL && info->si_pid == ::getpid() &&
                             !passed_on.active && may_fault_here.load()();
    if (!mended && !comes_again) pass_on(number, info, context);
    errno = kept;
}

constexpr std::int64_t kLookEvery = 10;   // milliseconds
std::atomic<std::int64_t> next_look = 0;  // by the coarse clock

// A thread that blocks the signal of a fault of its own is killed by it, handler or not. Threads
// that block all signals, to leave them to another one, do not mean that.
thread_local bool unblocked = false;

void unblock() noexcept {
    unblocked = true;
    sigset_t faults;
    ::sigemptyset(&faults);
    ::sigaddset(&faults, SIGBUS);
    ::pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

enum class Wanted { unknown, yes, no };
constinit std::atomic<Wanted> wanted = Wanted::unknown;

// The environment counts as it was at the first call.
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
    // The first ones wait until it is there; later nobody waits for one who is just looking.
    std::unique_lock lock(installing, std::defer_lock);
    if (others.load() == nullptr) {
        lock.lock();
    } else if (!lock.try_lock()) {
        return;
    }
    Action now{};
    if (::sigaction(SIGBUS, nullptr, &now) != 0 || is_ours(now)) return;
    const Others* const known = others.load();
    // None is ever freed: another thread may be in the handler.
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
    ::sigemptyset(&ours.sa_mask);
    ::sigaction(SIGBUS, &ours, nullptr);
}

// At the end of the process, or where the library is unloaded.
const struct RemoveAtEnd {
    RemoveAtEnd() = default;
    RemoveAtEnd(const RemoveAtEnd&) = delete;
    RemoveAtEnd& operator=(const RemoveAtEnd&) = delete;
    ~RemoveAtEnd() {
        Action now{};
        const Others* const chain = others.load();
        if (chain == nullptr || ::sigaction(SIGBUS, nullptr, &now) != 0 || !is_ours(now)) return;
        ::sigaction(SIGBUS, chain->has_newer ? &chain->newer : &chain->first, nullptr);
    }
} remove_at_end;

}  // namespace

void use_fault_handler(MendFault mend, MayFault may_fault) noexcept {
    if (!is_wanted()) return;
    const bool look = next_look.load(std::memory_order_relaxed) == 0;
    if (!unblocked || look) unblock();
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    const std::int64_t now = time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
    if (now < next_look.load(std::memory_order_relaxed)) return;
    mend_fault.store(mend);
    may_fault_here.store(may_fault);
    put_in_front();
    next_look.store(now + kLookEvery, std::memory_order_relaxed);
}

void renew_fault_handler() noexcept { next_look.store(0, std::memory_order_relaxed); }

}  // namespace onnxmap::os
