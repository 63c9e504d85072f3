// Guards of several threads over one file.
#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <cerrno>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "caught.hpp"
#include "child_process.hpp"
#include "os/parallel.hpp"
#include "plain_os.hpp"
#include "source/guard_outcomes.hpp"
#include "source/mapped_pages.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::test {

namespace {

constexpr int kCut = 8;  // a lost page

}  // namespace

TEST_CASE("read_guard_threads: helper threads have the guard of the thread they work for") {
    const MappedPages pages(64);
    const auto read_all = [&] {
        std::atomic<int> sum = 0;
        std::atomic<int> unguarded = 0;
        os::for_each_range(64, 1, [&](std::uint64_t page, std::uint64_t) {
            if (os::FaultGuard::current() == nullptr) ++unguarded;
            sum += pages.byte_of(page);
            std::this_thread::yield();
        });
        CHECK(unguarded == 0);
        return sum.load();
    };
    {
        const source::ReadGuard guard(pages.source());
        CHECK(read_all() == 64 * 65 / 2);
        guard.check();
    }
    pages.cut(5);
    for (int round = 0; round < 50; ++round) {
        const source::ReadGuard guard(pages.source());
        CHECK(read_all() == 5 * 6 / 2);
        CHECK(code(guard) == "file.changed");
    }
    CHECK(pages.is_whole());
    CHECK(read_unguarded(pages, 7) == Ending{-1, SIGBUS});
    CHECK(os::FaultGuard::current() == nullptr);
}

TEST_CASE("read_guard_threads: zeros from another thread's fault are noticed") {
    const MappedPages pages(16);
    pages.cut(2);
    std::barrier step(2);
    // One thread reads the lost page first. The other then reads its zeros, and has no fault of its
    // own.
    std::thread first([&] {
        step.arrive_and_wait();  // the other thread has its early guard
        {
            const source::ReadGuard guard(pages.source());
            CHECK(pages.byte_of(kCut) == 0);
            step.arrive_and_wait();  // the zeros are mapped
            step.arrive_and_wait();  // the other thread has read them
        }
        step.arrive_and_wait();  // the zeros are gone
    });
    {
        const source::ReadGuard early(pages.source());
        step.arrive_and_wait();
        step.arrive_and_wait();
        CHECK(pages.byte_of(kCut) == 0);
        CHECK(code(early) == "file.changed");
        const source::ReadGuard late(pages.source());
        CHECK(pages.byte_of(kCut + 1) == 0);
        CHECK(code(late) == "file.changed");
        step.arrive_and_wait();
        step.arrive_and_wait();
        // The zeros were there when these guards were read under, so the error stays.
        CHECK(code(early) == "file.changed");
        CHECK(code(late) == "file.changed");
    }
    first.join();
    const source::ReadGuard after(pages.source());
    CHECK(pages.byte_of(1) == 2);
    CHECK(code(after) == "accepted");
    CHECK(read_unguarded(pages, kCut) == Ending{0, 0});  // the child inherits this guard
}

TEST_CASE("read_guard_threads: the zeros stay until the last guard has ended") {
    const MappedPages pages(16);
    pages.cut(2);
    std::barrier step(2);
    std::thread first([&] {
        const source::ReadGuard guard(pages.source());
        CHECK(pages.byte_of(kCut) == 0);
        step.arrive_and_wait();
        step.arrive_and_wait();  // the other thread has had faults at earlier pages
    });
    {
        step.arrive_and_wait();
        const source::ReadGuard guard(pages.source());
        CHECK(pages.byte_of(4) == 0);  // a fault of its own: this page had no zeros yet
        step.arrive_and_wait();
        first.join();
        CHECK(pages.parts() == 2);
        CHECK(pages.byte_of(kCut) == 0);
        CHECK(code(guard) == "file.changed");
    }
    CHECK(read_unguarded(pages, kCut) == Ending{-1, SIGBUS});
    CHECK(read_unguarded(pages, 4) == Ending{-1, SIGBUS});
}

TEST_CASE("read_guard_threads: a file is cut and mended while many threads read it") {
    ONNXMAP_NEEDS_LINUX("a second mapping of what is mapped");
    const MappedPages pages(32);
    std::atomic<bool> done = false;
    std::atomic<int> wrong = 0;
    std::atomic<int> errors = 0;
    std::vector<std::thread> readers;
    for (std::size_t id = 0; id < 4; ++id) {
        readers.emplace_back([&, id] {
            for (std::size_t i = id; !done; ++i) {
                std::size_t zeros = 0;
                try {
                    source::guard_reads(pages.source(), [&] {
                        const source::ReadGuard inner(pages.source());
                        for (std::size_t k = 0; k < 4; ++k) {
                            const std::size_t page = (i * 5 + k * 9) % 32;
                            const int byte = pages.byte_of(page);
                            if (byte == 0) ++zeros;
                            if (byte != 0 && byte != static_cast<int>(page + 1)) ++wrong;
                        }
                    });
                    if (zeros > 0) ++wrong;  // zeros without an error
                } catch (const Error& error) {
                    ++(error.code == "file.changed" ? errors : wrong);
                } catch (const FileError& error) {
                    ++(error.number == EIO ? errors : wrong);
                }
            }
        });
    }
    // No page of the file has zeros. If zeros are read, a guard has mapped them.
    for (int round = 0; round < 100; ++round) {
        pages.cut(1 + static_cast<std::size_t>(round) % 31);
        std::this_thread::yield();
        pages.mend();
    }
    done = true;
    for (std::thread& reader : readers) reader.join();
    CHECK(wrong == 0);
    CHECK(errors > 0);
    CHECK(pages.is_whole());
    for (std::size_t i = 0; i < 32; ++i) CHECK(pages.byte_of(i) == static_cast<int>(i + 1));
}

}  // namespace onnxmap::test
