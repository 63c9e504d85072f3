// Our handler of SIGBUS together with others, installed before it and after it. A process installs
// its handler only once, so each case is a process of its own:
//
//     fault_handlers CASE

#include <algorithm>
#include <array>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "child_process.hpp"
#include "os/fault_handler.hpp"
#include "source/mapped_pages.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::test {

namespace {

constexpr int kReached = 50;  // exit code: the handler of the test was called

// End the process with an exit code that says so.
void end_plain(int) { ::_exit(kReached); }
void end_with_info(int, siginfo_t* info, void* context) {
    ::_exit(info != nullptr && context != nullptr && info->si_addr != nullptr ? kReached
                                                                              : kReached + 1);
}

volatile std::sig_atomic_t counted = 0;
void count(int) { counted = counted + 1; }

void set_handler(void (*handler)(int)) {
    struct sigaction action{};
    action.sa_handler = handler;
    ::sigaction(SIGBUS, &action, nullptr);
}

void set_handler(void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action{};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &action, nullptr);
}

bool has_handler(void (*handler)(int)) {
    struct sigaction now{};
    ::sigaction(SIGBUS, nullptr, &now);
    return now.sa_handler == handler;
}

// Two files that were cut off; one of them is guarded.
struct Cut {
    Cut() {
        guarded.cut(1);
        other.cut(1);
    }
    [[nodiscard]] bool is_guarded() const {
        const source::ReadGuard guard(guarded.source());
        if (guarded.byte_of(2) != 0) return false;
        try {
            guard.check();
            return false;
        } catch (const Error& error) {
            return error.code == "file.changed";
        }
    }
    /// A fault in the other file, under a guard of the first.
    int fault_elsewhere() const {
        const source::ReadGuard guard(guarded.source());
        return other.byte_of(2);
    }
    [[nodiscard]] Ending child_of_fault() const {
        return in_child([&] { return fault_elsewhere(); });
    }

    MappedPages guarded{4};
    MappedPages other{4};
};

const Ending kBusError{-1, SIGBUS};

bool none_before() {
    const Cut cut;
    // The handler is installed when it is first needed.
    if (!has_handler(SIG_DFL)) return false;
    if (!cut.is_guarded() || has_handler(SIG_DFL)) return false;
    return cut.child_of_fault() == kBusError &&
           in_child([] { return ::raise(SIGBUS); }) == kBusError &&
           in_child([] { return ::kill(::getpid(), SIGBUS); }) == kBusError;
}

template <class Handler>
bool one_before(Handler handler) {
    set_handler(handler);
    const Cut cut;
    return cut.is_guarded() && cut.child_of_fault() == Ending{kReached, 0} && cut.is_guarded() &&
           in_child([&] { return cut.other.byte_of(2); }) == Ending{kReached, 0};
}

bool sent_to_one_before() {
    set_handler(count);
    const Cut cut;
    if (!cut.is_guarded() || counted != 0) return false;
    ::raise(SIGBUS);
    ::kill(::getpid(), SIGBUS);
    return counted == 2 && cut.is_guarded() && counted == 2;
}

bool ignored_before() {
    set_handler(SIG_IGN);
    const Cut cut;
    if (!cut.is_guarded()) return false;
    ::raise(SIGBUS);  // still ignored
    ::kill(::getpid(), SIGBUS);
    // A fault is never ignored.
    return cut.is_guarded() && cut.child_of_fault() == kBusError;
}

template <class Handler>
bool one_after(Handler handler) {
    const Cut cut;
    if (!cut.is_guarded()) return false;
    // The other handler does not know ours, so it gets every fault ...
    const Ending alone = in_child([&] {
        const source::ReadGuard guard(cut.guarded.source());
        set_handler(handler);
        return cut.guarded.byte_of(2);
    });
    if (alone != Ending{kReached, 0}) return false;
    // ... until ours is installed again before it.
    set_handler(handler);
    os::renew_fault_handler();
    return cut.is_guarded() && cut.child_of_fault() == Ending{kReached, 0};
}

bool noticed_after_a_while() {
    const Cut cut;
    if (!cut.is_guarded()) return false;
    set_handler(end_plain);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return cut.is_guarded() && cut.child_of_fault() == Ending{kReached, 0};
}

// Like Python's faulthandler: it restores the handler that was there before it, and raises the
// signal again.
struct sigaction before_raising{};
void report_and_raise(int number) {
    ::sigaction(number, &before_raising, nullptr);
    counted = counted + 1;
    ::raise(number);
}

bool one_after_that_raises() {
    const Cut cut;
    const source::ReadGuard guard(cut.guarded.source());
    ::sigaction(SIGBUS, nullptr, &before_raising);
    set_handler(report_and_raise);
    if (cut.guarded.byte_of(2) != 0 || counted != 1) return false;
    // Now ours is the first again, and the other is not called any more.
    if (!cut.is_guarded() || counted != 1) return false;
    set_handler(report_and_raise);
    return cut.child_of_fault() == kBusError;
}

bool renewed_over_one_that_raises() {
    const Cut cut;
    if (!cut.is_guarded()) return false;
    ::sigaction(SIGBUS, nullptr, &before_raising);
    set_handler(report_and_raise);
    os::renew_fault_handler();  // now each of the two calls the other
    return cut.is_guarded() && counted == 0 && cut.child_of_fault() == kBusError;
}

bool on_another_stack() {
    const Cut cut;
    bool good = false;
    std::thread thread([&] {
        static std::array<char, 64 << 10> room;
        stack_t stack{};
        stack.ss_sp = room.data();
        stack.ss_size = room.size();
        good = ::sigaltstack(&stack, nullptr) == 0 && cut.is_guarded();
        stack.ss_flags = SS_DISABLE;
        ::sigaltstack(&stack, nullptr);
        // The handler ran on this stack, and not on the thread's own.
        good = good && std::ranges::any_of(room, [](char c) { return c != 0; });
    });
    thread.join();
    return good;
}

bool keeps_errno() {
    const Cut cut;
    const source::ReadGuard guard(cut.guarded.source());
    errno = 77;
    static_cast<void>(cut.guarded.byte_of(2));
    return errno == 77;
}

bool in_forked_child() {
    const Cut cut;
    if (!cut.is_guarded()) return false;
    const source::ReadGuard guard(cut.guarded.source());
    if (cut.guarded.byte_of(3) != 0) return false;
    const Ending ending = in_child([&] {
        if (cut.guarded.byte_of(3) != 0 || cut.guarded.byte_of(1) != 0) return 1;
        return cut.is_guarded() ? 0 : 2;
    });
    // The zeros that the parent mapped do not show in the child: without a guard it has the file's
    // pages.
    const Ending unguarded = in_child([&] {
        const os::GuardOfCaller none(nullptr);
        return cut.guarded.byte_of(3);
    });
    if (unguarded != kBusError) return false;
    return ending == Ending{0, 0} && cut.guarded.byte_of(1) == 0;
}

// No thread may touch a lost page while another is still installing the handler.
bool first_guards_at_once() {
    const Cut cut;
    for (int round = 0; round < 40; ++round) {
        const Ending ending = in_child([&] {
            std::barrier start(4);
            std::vector<std::jthread> threads;
            for (int i = 0; i < 4; ++i) {
                threads.emplace_back([&] {
                    start.arrive_and_wait();
                    const source::ReadGuard guard(cut.guarded.source());
                    static_cast<void>(cut.guarded.byte_of(2));
                });
            }
            threads.clear();
            return 0;
        });
        if (ending != Ending{0, 0}) return false;
    }
    return true;
}

// A guard that met a lost page before the fork can end in the child.
bool ended_in_forked_child() {
    const Cut cut;
    auto guard = std::make_unique<source::ReadGuard>(cut.guarded.source());
    if (cut.guarded.byte_of(3) != 0) return false;
    const Ending ending = in_child([&] {
        if (cut.guarded.byte_of(3) != 0) return 1;
        guard = nullptr;
        return cut.guarded.byte_of(3) == 0 ? 2 : 3;
    });
    return ending == kBusError;
}

bool opted_out() {
    ::setenv("ONNXMAP_SIGBUS_HANDLER", "0", 1);
    const Cut cut;
    if (in_child([&] { return cut.is_guarded() ? 1 : 2; }) != kBusError) return false;
    const source::ReadGuard guard(cut.guarded.source());
    if (!has_handler(SIG_DFL)) return false;
    os::renew_fault_handler();
    return has_handler(SIG_DFL);
}

bool not_opted_out() {
    ::setenv("ONNXMAP_SIGBUS_HANDLER", "1", 1);
    return Cut().is_guarded();
}

const std::map<std::string, bool (*)()>& cases() {
    static const std::map<std::string, bool (*)()> kCases = {
        {"none_before", none_before},
        {"plain_one_before", [] { return one_before(end_plain); }},
        {"one_with_info_before", [] { return one_before(end_with_info); }},
        {"sent_to_one_before", sent_to_one_before},
        {"ignored_before", ignored_before},
        {"plain_one_after", [] { return one_after(end_plain); }},
        {"one_with_info_after", [] { return one_after(end_with_info); }},
        {"noticed_after_a_while", noticed_after_a_while},
        {"one_after_that_raises", one_after_that_raises},
        {"renewed_over_one_that_raises", renewed_over_one_that_raises},
        {"on_another_stack", on_another_stack},
        {"keeps_errno", keeps_errno},
        {"in_forked_child", in_forked_child},
        {"ended_in_forked_child", ended_in_forked_child},
        {"first_guards_at_once", first_guards_at_once},
        {"opted_out", opted_out},
        {"not_opted_out", not_opted_out},
    };
    return kCases;
}

}  // namespace

}  // namespace onnxmap::test

int main(int argc, char** argv) {
    const auto& cases = onnxmap::test::cases();
    const auto found = cases.find(argc == 2 ? argv[1] : "");
    if (found == cases.end()) {
        std::fprintf(stderr, "usage: fault_handlers CASE, which is one of");
        for (const auto& one : cases) std::fprintf(stderr, " %s", one.first.c_str());
        std::fprintf(stderr, "\n");
        return 2;
    }
    return found->second() ? 0 : 1;
}
