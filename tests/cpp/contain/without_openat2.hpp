// A kernel without openat2, or a sandbox that forbids it.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <functional>
#include <iterator>
#include <thread>

namespace onnxmap::test {

/// Runs the call on a thread for which openat2 fails with this errno. Returns false if the test's
/// own sandbox forbids that.
[[nodiscard]] inline bool run_without_openat2(int number, const std::function<void()>& call) {
    bool possible = false;
    std::thread thread([&] {
        sock_filter program[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
            BPF_STMT(BPF_RET | BPF_K,
                     SECCOMP_RET_ERRNO | (static_cast<unsigned>(number) & SECCOMP_RET_DATA)),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
        possible = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
        if (possible) call();
    });
    thread.join();
    return possible;
}

}  // namespace onnxmap::test
