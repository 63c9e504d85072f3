// Runs work in a child process if it would end this process, or change it for good.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <ostream>
#include <string_view>
#include <system_error>
#include <utility>

namespace onnxmap::test {

/// How a process ended: with an exit code, or by a signal.
struct Ending {
    int code = -1;
    int signal = 0;

    bool operator==(const Ending&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Ending& ending) {
    return out << "exit code " << ending.code << ", signal " << ending.signal;
}

inline constexpr int kThrew = 98;

/// Forks, and calls work() in the child. Its result is the child's exit code. SIGALRM ends a child
/// that hangs. The sanitizers leave SIGBUS alone: see sanitizer_options.cpp.
template <class Work>
[[nodiscard]] Ending in_child(Work&& work) {
    const pid_t child = ::fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child == 0) {
        ::alarm(60);
        const rlimit no_core{0, 0};
        ::setrlimit(RLIMIT_CORE, &no_core);
        int code = kThrew;
        try {
            code = std::forward<Work>(work)();
        } catch (const std::exception& error) {
            const std::string_view text = error.what();
            static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
        }
        ::_exit(code);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
    }
    if (WIFSIGNALED(status)) return {-1, WTERMSIG(status)};
    return {WEXITSTATUS(status), 0};
}

}  // namespace onnxmap::test
