#include "compare/list_matching.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace onnxmap::test {

namespace {

using compare::Matching;
using Names = std::vector<std::string>;

constexpr std::uint32_t kNone = Matching::kNone;

Matching matched(const Names& a, const Names& b, bool unique = false) {
    Matching matching(a.size(), b.size());
    matching.pair_by([&](std::uint32_t i) -> std::string_view { return a[i]; },
                     [&](std::uint32_t j) -> std::string_view { return b[j]; }, unique);
    return matching;
}

std::vector<std::uint32_t> partners(const Matching& matching) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < matching.count_a(); ++i) {
        found.push_back(matching.of_a(i));
        if (found.back() != kNone) CHECK(matching.of_b(found.back()) == i);
    }
    return found;
}

std::size_t moved_in(const std::vector<std::uint32_t>& order) {
    Matching matching(order.size(), order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) matching.pair(i, order[i]);
    const std::vector<bool> moved = matching.moved();
    // What has not moved is in order.
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        if (moved[i]) continue;
        CHECK(order[i] >= last);
        last = order[i];
    }
    return static_cast<std::size_t>(std::ranges::count(moved, true));
}

// The length of a longest ascending subsequence, in quadratic time.
std::size_t longest_ascending(const std::vector<std::uint32_t>& order) {
    std::vector<std::size_t> length(order.size(), 1);
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (std::size_t before = 0; before < i; ++before) {
            if (order[before] < order[i]) length[i] = std::max(length[i], length[before] + 1);
        }
    }
    return order.empty() ? 0 : std::ranges::max(length);
}

}  // namespace

TEST_CASE("list matching: equal keys are paired in order") {
    CHECK(partners(matched({"a", "b", "a", "a"}, {"a", "c", "b", "a"})) ==
          std::vector<std::uint32_t>{0, 2, 3, kNone});
    CHECK(partners(matched({"", "x"}, {"", "x"})) == std::vector<std::uint32_t>{kNone, 1});
    CHECK(partners(matched({}, {"a"})).empty());
}

TEST_CASE("list matching: unique keys only") {
    CHECK(partners(matched({"a", "b", "a", "c"}, {"c", "a", "b", "b"}, true)) ==
          std::vector<std::uint32_t>{kNone, kNone, kNone, 0});
}

TEST_CASE("list matching: a second key pairs only what is left") {
    Matching matching = matched({"a", "b", "c"}, {"c", "x", "y"});
    const auto same = [](std::uint32_t) -> std::string_view { return "same"; };
    matching.pair_by(same, same);
    CHECK(partners(matching) == std::vector<std::uint32_t>{1, 2, 0});
    CHECK(matching.complete());
}

TEST_CASE("list matching: each key is made once, however often keys are repeated") {
    constexpr std::uint32_t kCount = 50'000;
    for (const std::uint32_t keys : {1U, 2U, kCount}) {
        for (const bool unique : {false, true}) {
            std::uint64_t made = 0;
            std::string key;
            const auto key_of = [&](std::uint32_t i) -> std::string_view {
                ++made;
                key = std::to_string(i % keys);
                return key;
            };
            Matching matching(kCount, kCount);
            matching.pair_by(key_of, key_of, unique);
            CHECK(made == 2 * kCount);
            CHECK(matching.complete() == (!unique || keys == kCount));
        }
    }
}

TEST_CASE("list matching: the fewest elements that can have moved") {
    CHECK(moved_in({}) == 0);
    CHECK(moved_in({0, 1, 2}) == 0);
    CHECK(moved_in({2, 1, 0}) == 2);
    CHECK(moved_in({1, 2, 3, 0}) == 1);
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::uint32_t> order(random() % 12);
        std::iota(order.begin(), order.end(), 0U);
        std::ranges::shuffle(order, random);
        CHECK(moved_in(order) == order.size() - longest_ascending(order));
    }
}

TEST_CASE("list matching: elements without a partner have not moved") {
    Matching matching(3, 2);
    matching.pair(0, 1);
    matching.pair(2, 0);
    const std::vector<bool> moved = matching.moved();
    CHECK_FALSE(moved[1]);
    CHECK(std::ranges::count(moved, true) == 1);
}

TEST_CASE("list matching: ascending pairs are the ends, and what stays in order between") {
    using Keys = std::vector<std::string_view>;
    using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
    CHECK(compare::ascending_pairs({}, {}).empty());
    CHECK(compare::ascending_pairs(Keys{"a", "b"}, Keys{"a", "b"}) == Pairs{{0, 0}, {1, 1}});
    CHECK(compare::ascending_pairs(Keys{"a", "a"}, Keys{"a"}) == Pairs{{0, 0}});
    CHECK(compare::ascending_pairs(Keys{"a", "x", "b"}, Keys{"a", "b"}) == Pairs{{0, 0}, {2, 1}});
    CHECK(compare::ascending_pairs(Keys{"p", "a", "b", "c"}, Keys{"c", "a", "b", "q"}) ==
          Pairs{{1, 1}, {2, 2}});
    CHECK(compare::ascending_pairs(Keys{"p", "a", "a", "b"}, Keys{"q", "a", "b", "r"}) ==
          Pairs{{3, 2}});
}

}  // namespace onnxmap::test
