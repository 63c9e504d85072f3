// POSIX cannot map an existing mapping a second time. An empty file is mapped instead of the file:
// touching a page after its end raises SIGBUS, as touching the lost page did.
#include "os/lost_pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>

namespace onnxmap::os {

namespace {

// -1 means none. The descriptors stay open for the rest of the process, since a handler may run at
// any time.
constinit std::atomic<int> empty_file = -1;
constinit std::atomic<int> pipe_in = -1;
constinit std::atomic<int> pipe_out = -1;

void set_flags(int descriptor, int more) noexcept {
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | more);
}

void open_empty_file() noexcept {
    std::array<char, 24> path{"/tmp/onnxmap-XXXXXX"};
    const int opened = ::mkstemp(path.data());
    if (opened < 0) return;
    ::unlink(path.data());
    set_flags(opened, 0);
    empty_file.store(opened);
}

void open_pipe() noexcept {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return;
    for (const int end : ends) set_flags(end, O_NONBLOCK);
    pipe_out.store(ends[0]);
    pipe_in.store(ends[1]);
}

}  // namespace

void prepare_for_lost_pages() noexcept {
    static std::atomic_flag begun;
    if (begun.test_and_set()) return;
    open_empty_file();
    open_pipe();
}

// A system call that reads the lost page fails, and raises no signal.
bool is_lost(std::uint8_t* page, std::size_t) noexcept {
    if (::write(pipe_in.load(), page, 1) != 1) return true;
    std::uint8_t byte = 0;
    [[maybe_unused]] const ssize_t count = ::read(pipe_out.load(), &byte, 1);
    return false;
}

bool keep_page(std::uint8_t*, std::size_t, void*& kept) noexcept {
    kept = nullptr;
    return true;
}

void forget_page(void*, std::size_t) noexcept {}

// If this fails, the zeros stay, and all guards report that bytes were lost.
bool put_back(void*, std::uint8_t* begin, std::size_t nbytes) noexcept {
    const int file = empty_file.load();
    return file >= 0 &&
           ::mmap(begin, nbytes, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
}

}  // namespace onnxmap::os
