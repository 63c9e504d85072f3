#include "fuzz/watched_calls.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdarg>
#include <optional>
#include <string_view>
#include <utility>

namespace onnxmap::fuzz {

namespace {

struct State {
    CallPlan plan;
    unsigned calls = 0;
};

std::optional<State> watched;
std::optional<State> set_aside;

// Whether this call fails. Sets errno if so.
bool fails() {
    if (!watched) return false;
    const unsigned call = watched->calls++;
    for (const Failure& failure : watched->plan.failures) {
        if (failure.call != call) continue;
        errno = failure.number;
        return true;
    }
    return false;
}

bool fails_at(const char* path) {
    if (watched && watched->plan.no_proc && std::string_view(path).starts_with("/proc/")) {
        errno = ENOENT;
        return true;
    }
    return fails();
}

int opened(int descriptor, int flags) {
    if (!watched || descriptor < 0) return descriptor;
    const UnwatchedCalls own;
    set_aside->plan.on_open(descriptor, flags);
    return descriptor;
}

}  // namespace

WatchedCalls::WatchedCalls(CallPlan plan) { watched = State{std::move(plan)}; }
WatchedCalls::~WatchedCalls() { watched.reset(); }

UnwatchedCalls::UnwatchedCalls() { std::swap(watched, set_aside); }
UnwatchedCalls::~UnwatchedCalls() { std::swap(watched, set_aside); }

}  // namespace onnxmap::fuzz

namespace fuzz = onnxmap::fuzz;

extern "C" {

int __real_open(const char* path, int flags, ...);
int __real_openat(int folder, const char* path, int flags, ...);
long __real_syscall(long number, ...);
int __real_fstat(int descriptor, struct stat* status);
int __real_lstat(const char* path, struct stat* status);
int __real_fstatfs(int descriptor, struct statfs* status);
ssize_t __real_readlink(const char* path, char* target, size_t size);
ssize_t __real_readlinkat(int folder, const char* path, char* target, size_t size);
int __real_statx(int folder, const char* path, int flags, unsigned mask, struct statx* status);
void* __real_mmap(void* at, size_t size, int protection, int flags, int descriptor, off_t offset);

// The core creates no file: the mode of open() is never given.
int __wrap_open(const char* path, int flags, ...) {
    if (fuzz::fails_at(path)) return -1;
    return fuzz::opened(__real_open(path, flags), flags);
}

int __wrap_openat(int folder, const char* path, int flags, ...) {
    if (fuzz::fails()) return -1;
    return fuzz::opened(__real_openat(folder, path, flags), flags);
}

// The core calls it with up to five arguments of the size of a long.
long __wrap_syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long arguments[6];
    for (long& argument : arguments) argument = va_arg(list, long);
    va_end(list);
    const auto go_on = [&] {
        return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                              arguments[4], arguments[5]);
    };
    if (number != SYS_openat2) return go_on();
    if (fuzz::watched && fuzz::watched->plan.openat2_fails != 0) {
        errno = fuzz::watched->plan.openat2_fails;
        return -1;
    }
    if (fuzz::fails()) return -1;
    const auto* how = reinterpret_cast<const struct open_how*>(arguments[2]);
    return fuzz::opened(static_cast<int>(go_on()), static_cast<int>(how->flags));
}

int __wrap_fstat(int descriptor, struct stat* status) {
    return fuzz::fails() ? -1 : __real_fstat(descriptor, status);
}

int __wrap_lstat(const char* path, struct stat* status) {
    return fuzz::fails_at(path) ? -1 : __real_lstat(path, status);
}

int __wrap_fstatfs(int descriptor, struct statfs* status) {
    return fuzz::fails() ? -1 : __real_fstatfs(descriptor, status);
}

ssize_t __wrap_readlink(const char* path, char* target, size_t size) {
    return fuzz::fails_at(path) ? -1 : __real_readlink(path, target, size);
}

ssize_t __wrap_readlinkat(int folder, const char* path, char* target, size_t size) {
    return fuzz::fails_at(path) ? -1 : __real_readlinkat(folder, path, target, size);
}

int __wrap_statx(int folder, const char* path, int flags, unsigned mask, struct statx* status) {
    return fuzz::fails_at(path) ? -1 : __real_statx(folder, path, flags, mask, status);
}

void* __wrap_mmap(void* at, size_t size, int protection, int flags, int descriptor, off_t offset) {
    return fuzz::fails() ? MAP_FAILED
                         : __real_mmap(at, size, protection, flags, descriptor, offset);
}

}  // extern "C"
