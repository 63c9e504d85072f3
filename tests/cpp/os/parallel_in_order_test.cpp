#include "os/parallel.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace onnxmap::test {

namespace {

struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    friend bool operator==(const Range&, const Range&) = default;
};

// The ranges in the order in which then() was called. Empty if a slot had two ranges at once, or if
// then() ran in another thread.
std::vector<Range> ranges_in_order(std::uint64_t total, std::uint64_t grain, std::uint64_t slots) {
    std::vector<Range> in_slots(slots);
    std::vector<std::atomic<int>> taken(slots);
    std::vector<Range> ranges;
    std::atomic<bool> good = true;
    const auto here = std::this_thread::get_id();
    os::for_each_range_in_order(
        total, grain, slots,
        [&](std::uint64_t slot, std::uint64_t begin, std::uint64_t end) {
            if (taken[slot]++ != 0) good = false;
            in_slots[slot] = {begin, end};
        },
        [&](std::uint64_t slot) {
            if (std::this_thread::get_id() != here) good = false;
            ranges.push_back(std::exchange(in_slots[slot], {}));
            if (--taken[slot] != 0) good = false;
        });
    return good ? ranges : std::vector<Range>{};
}

std::vector<Range> all_ranges(std::uint64_t total, std::uint64_t grain) {
    std::vector<Range> ranges;
    for (std::uint64_t begin = 0; begin < total; begin += grain) {
        ranges.push_back({begin, std::min(total, begin + grain)});
    }
    return ranges;
}

}  // namespace

TEST_CASE("parallel in order: each range is finished once, in order, by the caller") {
    for (const unsigned threads : {1U, 2U, 5U}) {
        const os::WithThreadBudget budget({threads, nullptr});
        for (const std::uint64_t slots : {1ULL, 2ULL, 7ULL}) {
            for (const std::uint64_t grain : {1ULL, 3ULL, 50ULL}) {
                for (const std::uint64_t total : {1ULL, 2ULL, 6ULL, 49ULL, 50ULL, 51ULL, 500ULL}) {
                    CAPTURE(threads);
                    CAPTURE(slots);
                    CAPTURE(grain);
                    CAPTURE(total);
                    REQUIRE(ranges_in_order(total, grain, slots) == all_ranges(total, grain));
                }
            }
        }
    }
    CHECK(ranges_in_order(0, 10, 2).empty());
}

TEST_CASE("parallel in order: other threads work ahead by the number of slots, and no further") {
    constexpr std::uint64_t slots = 4;
    const os::WithThreadBudget budget({3, nullptr});
    std::atomic<std::uint64_t> worked = 0;
    std::uint64_t finished = 0;
    bool too_far = false;
    os::for_each_range_in_order(
        100, 1, slots, [&](std::uint64_t, std::uint64_t, std::uint64_t) { ++worked; },
        [&](std::uint64_t) {
            // The range that is finished here keeps its slot.
            const std::uint64_t most = std::min<std::uint64_t>(100, finished + slots);
            while (worked < most) std::this_thread::yield();  // for ever if no other thread worked
            std::this_thread::sleep_for(std::chrono::microseconds(100));
            too_far = too_far || worked > most;
            ++finished;
        });
    CHECK(finished == 100);
    CHECK_FALSE(too_far);
}

TEST_CASE("parallel in order: an exception reaches the caller, and the rest is not done") {
    for (const unsigned threads : {1U, 3U}) {
        const os::WithThreadBudget budget({threads, nullptr});
        for (const std::uint64_t bad : {0ULL, 1ULL, 57ULL, 99ULL}) {
            std::uint64_t finished = 0;
            std::string text;
            const auto fail = [&](std::uint64_t i) {
                if (i == bad) throw std::runtime_error("range " + std::to_string(i));
            };
            try {
                os::for_each_range_in_order(
                    100, 1, 4,
                    [&](std::uint64_t, std::uint64_t begin, std::uint64_t) { fail(begin); },
                    [&](std::uint64_t) { ++finished; });
            } catch (const std::runtime_error& error) {
                text = error.what();
            }
            CHECK(text == "range " + std::to_string(bad));
            CHECK(finished <= bad);

            finished = 0;
            text.clear();
            try {
                os::for_each_range_in_order(
                    100, 1, 4, [](std::uint64_t, std::uint64_t, std::uint64_t) {},
                    [&](std::uint64_t) { fail(finished++); });
            } catch (const std::runtime_error& error) {
                text = error.what();
            }
            CHECK(text == "range " + std::to_string(bad));
            CHECK(finished == bad + 1);
        }
    }
}

TEST_CASE("parallel in order: it ends if its result is no longer wanted") {
    std::atomic<bool> stopped = false;
    const os::WithThreadBudget budget({2, &stopped});
    std::uint64_t finished = 0;
    const auto work = [](std::uint64_t, std::uint64_t, std::uint64_t) {};
    CHECK_THROWS_AS(os::for_each_range_in_order(1000, 1, 4, work,
                                                [&](std::uint64_t) {
                                                    ++finished;
                                                    stopped = true;
                                                }),
                    os::Stopped);
    CHECK(finished == 1);
}

TEST_CASE("parallel in order: work within work runs on the same thread") {
    const os::WithThreadBudget budget({4, nullptr});
    std::atomic<bool> same = true;
    const auto look = [&] {
        const auto here = std::this_thread::get_id();
        os::for_each_range(8, 1, [&](std::uint64_t, std::uint64_t) {
            if (std::this_thread::get_id() != here) same = false;
        });
    };
    os::for_each_range_in_order(
        8, 1, 2, [&](std::uint64_t, std::uint64_t, std::uint64_t) { look(); },
        [&](std::uint64_t) { look(); });
    CHECK(same);
}

}  // namespace onnxmap::test
