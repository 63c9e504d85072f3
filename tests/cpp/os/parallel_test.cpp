#include "os/parallel.hpp"
#include "os/processors.hpp"
#include "plain_os.hpp"
#include "threads_of_process.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace onnxmap::test {

namespace {

// How often each of 0 .. total was in a range; -1 if a range was empty or too long.
std::vector<int> visits(std::uint64_t total, std::uint64_t grain) {
    std::vector<std::atomic<int>> times(total);
    std::atomic<bool> good = true;
    os::for_each_range(total, grain, [&](std::uint64_t begin, std::uint64_t end) {
        if (begin >= end || end > total || end - begin > grain || begin % grain != 0) good = false;
        for (std::uint64_t i = begin; i < std::min(end, total); ++i) ++times[i];
    });
    if (!good) return {-1};
    return {times.begin(), times.end()};
}

}  // namespace

TEST_CASE("parallel: the ranges cover everything exactly once") {
    for (std::uint64_t total = 0; total < 40; ++total) {
        for (const std::uint64_t grain : {1ULL, 2ULL, 3ULL, 7ULL, 8ULL, 39ULL, 40ULL, 1000ULL}) {
            CAPTURE(total);
            CAPTURE(grain);
            REQUIRE(visits(total, grain) == std::vector<int>(total, 1));
        }
    }
    CHECK(visits(100'000, 3) == std::vector<int>(100'000, 1));
}

TEST_CASE("parallel: the number of elements may be as large as possible") {
    std::mutex mutex;
    std::uint64_t covered = 0;
    std::set<std::uint64_t> begins;
    os::for_each_range(INT64_MAX, INT64_MAX / 4, [&](std::uint64_t begin, std::uint64_t end) {
        const std::lock_guard lock(mutex);
        begins.insert(begin);
        covered += end - begin;
    });
    CHECK(covered == INT64_MAX);
    CHECK(begins.size() == 5);
    CHECK(*begins.begin() == 0);
}

TEST_CASE("parallel: a single range runs on the calling thread, and no range calls nothing") {
    const auto here = std::this_thread::get_id();
    int calls = 0;
    os::for_each_range(10, 10, [&](std::uint64_t begin, std::uint64_t end) {
        CHECK(std::this_thread::get_id() == here);
        CHECK(begin == 0);
        CHECK(end == 10);
        ++calls;
    });
    CHECK(calls == 1);
    os::for_each_range(0, 10, [&](std::uint64_t, std::uint64_t) { ++calls; });
    CHECK(calls == 1);
}

TEST_CASE("parallel: no more threads than processors run, and none is left") {
    const std::size_t before = threads_of_process();
    std::mutex mutex;
    std::set<std::thread::id> seen;
    os::for_each_range(500, 1, [&](std::uint64_t, std::uint64_t) {
        const std::lock_guard lock(mutex);
        seen.insert(std::this_thread::get_id());
    });
    CHECK(os::usable_cpus() >= 1);
    CHECK(seen.size() <= os::usable_cpus());
    CHECK(threads_of_process(before) == before);
}

TEST_CASE("parallel: two ranges run at the same time if there are two processors") {
    if (os::usable_cpus() < 2) {
        CHECK(os::usable_cpus() == 1);
        return;
    }
    // Each waits until the other has begun. A single thread would wait for ever.
    std::atomic<int> begun = 0;
    os::for_each_range(2, 1, [&](std::uint64_t, std::uint64_t) {
        ++begun;
        while (begun < 2) std::this_thread::yield();
    });
    CHECK(begun == 2);
}

TEST_CASE("parallel: a process that is limited to one processor starts no thread") {
    ONNXMAP_NEEDS_LINUX("sched_getaffinity");
    cpu_set_t allowed;
    REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        CPU_SET(cpu, &one);
        break;
    }
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
    const auto here = std::this_thread::get_id();
    bool all_here = true;
    const unsigned cpus = os::usable_cpus();
    os::for_each_range(50, 1, [&](std::uint64_t, std::uint64_t) {
        all_here = all_here && std::this_thread::get_id() == here;
    });
    REQUIRE(::sched_setaffinity(0, sizeof allowed, &allowed) == 0);
    CHECK(cpus == 1);
    CHECK(all_here);
}

TEST_CASE("parallel: an exception reaches the caller, and the rest is not done") {
    const std::size_t before = threads_of_process();
    for (const std::uint64_t bad : {0ULL, 1ULL, 57ULL, 99ULL}) {
        std::atomic<int> calls = 0;
        std::string text;
        try {
            os::for_each_range(100, 1, [&](std::uint64_t begin, std::uint64_t) {
                ++calls;
                if (begin == bad) throw std::runtime_error("range " + std::to_string(begin));
            });
        } catch (const std::runtime_error& error) {
            text = error.what();
        }
        CHECK(text == "range " + std::to_string(bad));
        CHECK(calls >= 1);
        CHECK(calls <= 100);
    }
    // The other threads stop after their current range.
    std::atomic<int> begun = 0;
    CHECK_THROWS_AS(
        os::for_each_range(1000, 1,
                           [&](std::uint64_t begin, std::uint64_t) {
                               ++begun;
                               if (begin == 0) throw std::runtime_error("first");
                               std::this_thread::sleep_for(std::chrono::microseconds(300));
                           }),
        std::runtime_error);
    CHECK(begun < 1000);
    // If all ranges throw, the caller gets one of the exceptions. Each thread has begun one range
    // at most.
    std::atomic<unsigned> calls = 0;
    CHECK_THROWS_AS(os::for_each_range(100, 1,
                                       [&](std::uint64_t, std::uint64_t) {
                                           ++calls;
                                           throw std::runtime_error("each");
                                       }),
                    std::runtime_error);
    CHECK(calls <= os::usable_cpus());
    CHECK_THROWS_AS(
        os::for_each_range(1, 1, [](std::uint64_t, std::uint64_t) { throw std::bad_alloc(); }),
        std::bad_alloc);
    CHECK(threads_of_process(before) == before);
}

TEST_CASE("parallel: work may itself be split") {
    std::vector<std::atomic<int>> times(12 * 34);
    os::for_each_range(12, 1, [&](std::uint64_t outer, std::uint64_t) {
        os::for_each_range(34, 5, [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t i = begin; i < end; ++i) ++times[outer * 34 + i];
        });
    });
    CHECK(std::ranges::all_of(times, [](const auto& n) { return n == 1; }));
    CHECK_THROWS_AS(os::for_each_range(4, 1,
                                       [](std::uint64_t, std::uint64_t) {
                                           os::for_each_range(4, 1,
                                                              [](std::uint64_t, std::uint64_t) {
                                                                  throw std::runtime_error("inner");
                                                              });
                                       }),
                    std::runtime_error);
}

TEST_CASE("parallel: an budget sets the number of threads until the end of its scope") {
    const auto threads_for = [](unsigned allowed) {
        const os::WithThreadBudget budget({allowed, nullptr});
        std::mutex mutex;
        std::set<std::thread::id> seen;
        std::atomic<unsigned> begun = 0;
        os::for_each_range(allowed, 1, [&](std::uint64_t, std::uint64_t) {
            {
                const std::lock_guard lock(mutex);
                seen.insert(std::this_thread::get_id());
            }
            ++begun;
            while (begun < allowed) std::this_thread::yield();  // all threads at the same time
        });
        return seen.size();
    };
    CHECK(threads_for(1) == 1);
    CHECK(threads_for(3) == 3);  // even if there are fewer processors
    CHECK(threads_for(7) == 7);
    const os::WithThreadBudget one({1, nullptr});
    CHECK(threads_for(2) == 2);
    const auto here = std::this_thread::get_id();
    os::for_each_range(
        10, 1, [&](std::uint64_t, std::uint64_t) { CHECK(std::this_thread::get_id() == here); });
}

TEST_CASE("parallel: work within work runs on the same thread") {
    const os::WithThreadBudget budget({4, nullptr});
    std::atomic<bool> same = true;
    os::for_each_range(8, 1, [&](std::uint64_t, std::uint64_t) {
        const auto here = std::this_thread::get_id();
        os::for_each_range(8, 1, [&](std::uint64_t, std::uint64_t) {
            if (std::this_thread::get_id() != here) same = false;
        });
    });
    CHECK(same);
}

TEST_CASE("parallel: the work ends if its result is no longer wanted") {
    std::atomic<bool> stopped = false;
    const os::WithThreadBudget budget({2, &stopped});
    os::leave_if_stopped();
    std::atomic<int> calls = 0;
    CHECK_THROWS_AS(os::for_each_range(1000, 1,
                                       [&](std::uint64_t, std::uint64_t) {
                                           ++calls;
                                           stopped = true;
                                       }),
                    os::Stopped);
    CHECK(calls <= 2);
    CHECK_THROWS_AS(os::leave_if_stopped(), os::Stopped);
    CHECK_THROWS_AS(os::for_each_range(1, 1, [&](std::uint64_t, std::uint64_t) { calls = 100; }),
                    os::Stopped);
    CHECK(calls <= 2);
}

TEST_CASE("parallel: an error of the work or of its watcher ends both") {
    using std::chrono::milliseconds;
    const std::size_t before = threads_of_process();
    // The caller looks again and again, while another thread does the work with the given budget.
    std::atomic<int> looks = 0;
    const auto here = std::this_thread::get_id();
    os::work_while_polling(
        {3, nullptr}, milliseconds(1),
        [&] {
            CHECK(std::this_thread::get_id() != here);
            while (looks < 3) std::this_thread::yield();
        },
        [&] {
            CHECK(std::this_thread::get_id() == here);
            ++looks;
        });
    CHECK(looks >= 3);
    // An error of the watcher stops the work. The caller gets it after the work has ended.
    bool ended = false;
    CHECK_THROWS_AS(os::work_while_polling(
                        {1, nullptr}, milliseconds(1),
                        [&] {
                            try {
                                while (true) {
                                    os::leave_if_stopped();
                                    std::this_thread::yield();
                                }
                            } catch (const os::Stopped&) {
                                ended = true;
                                throw;
                            }
                        },
                        [] { throw std::logic_error("looked"); }),
                    std::logic_error);
    CHECK(ended);
    // The caller gets an error of the work, too.
    CHECK_THROWS_AS(os::work_while_polling(
                        {1, nullptr}, milliseconds(1000), [] { throw std::bad_alloc(); }, [] {}),
                    std::bad_alloc);
    CHECK(threads_of_process(before) == before);
    os::leave_if_stopped();
}

}  // namespace onnxmap::test
