#include "base/byte_ranges.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <utility>
#include <vector>

namespace onnxmap::test {

namespace {

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Ranges all(const ByteRanges& ranges) {
    Ranges found;
    for (const auto& range : ranges) found.emplace_back(range.begin, range.end);
    return found;
}

Ranges missing(const ByteRanges& ranges, std::uint64_t begin, std::uint64_t end) {
    Ranges found;
    ranges.for_each_missing(begin, end, [&](std::uint64_t first, std::uint64_t last) {
        found.emplace_back(first, last);
    });
    return found;
}

// The longest runs in begin .. end whose bytes are all in the set, or all not in it (`wanted`).
Ranges runs_of(const std::set<std::uint64_t>& set, std::uint64_t begin, std::uint64_t end,
               bool wanted) {
    Ranges runs;
    for (std::uint64_t i = begin; i < end; ++i) {
        if (set.contains(i) != wanted) continue;
        if (!runs.empty() && runs.back().second == i) {
            ++runs.back().second;
        } else {
            runs.emplace_back(i, i + 1);
        }
    }
    return runs;
}

}  // namespace

TEST_CASE("byte_ranges: agrees with a set of single bytes") {
    constexpr std::uint64_t kSize = 300;
    std::mt19937_64 random(3);
    for (int round = 0; round < 40; ++round) {
        ByteRanges ranges;
        std::set<std::uint64_t> set;
        for (int step = 0; step < 60; ++step) {
            const std::uint64_t begin = random() % kSize;
            const std::uint64_t end = begin + random() % (kSize - begin) / (1 + random() % 20);
            REQUIRE(missing(ranges, begin, end) == runs_of(set, begin, end, false));
            if (end == begin) continue;
            ranges.add(begin, end);
            for (std::uint64_t i = begin; i < end; ++i) set.insert(i);
            // Neighbours become one range, so as few ranges as possible are kept.
            REQUIRE(all(ranges) == runs_of(set, 0, kSize, true));
        }
        CHECK(missing(ranges, 0, kSize) == runs_of(set, 0, kSize, false));
    }
}

TEST_CASE("byte_ranges: ranges reach up to the last number") {
    ByteRanges ranges;
    ranges.add(UINT64_MAX - 1, UINT64_MAX);
    ranges.add(0, 1);
    CHECK(missing(ranges, 0, UINT64_MAX) == Ranges{{1, UINT64_MAX - 1}});
    ranges.add(1, UINT64_MAX - 1);
    CHECK(missing(ranges, 0, UINT64_MAX).empty());
    CHECK(all(ranges) == Ranges{{0, UINT64_MAX}});
    CHECK(missing(ranges, 5, 5).empty());
}

}  // namespace onnxmap::test
