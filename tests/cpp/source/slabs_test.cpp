#include "source/slabs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

namespace onnxmap::test {

namespace {

using source::Place;
using source::Slabs;

constexpr std::uint64_t kLarge = source::OwnedBytes::kLeastForHugePages;

std::vector<Place> place(const std::vector<std::uint64_t>& sizes) {
    std::uint64_t total = 0;
    for (const std::uint64_t nbytes : sizes) total += Slabs::taken(nbytes);
    Slabs slabs(total);
    std::vector<Place> places;
    for (const std::uint64_t nbytes : sizes) places.push_back(slabs.place(nbytes));
    return places;
}

}  // namespace

TEST_CASE("slabs: arrays are aligned, have their sizes, and do not overlap") {
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t i = 0; i < 3000; ++i) sizes.push_back(i * 7919 % 20'000);
    sizes.insert(sizes.end(), {kLarge - 1, kLarge, kLarge + 1, 0, 1, 63, 64, 65});
    const auto places = place(sizes);
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> used;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        REQUIRE(places[i].bytes.size() == sizes[i]);
        if (sizes[i] == 0) continue;
        const auto begin = reinterpret_cast<std::uintptr_t>(places[i].bytes.data());
        REQUIRE(begin % 64 == 0);
        const auto memory = places[i].memory->writable();
        REQUIRE(places[i].bytes.data() >= memory.data());
        REQUIRE(places[i].bytes.data() + sizes[i] <= memory.data() + memory.size());
        used.emplace_back(begin, begin + sizes[i]);
        std::ranges::fill(places[i].bytes, std::uint8_t{0xa5});
    }
    std::ranges::sort(used);
    for (std::size_t i = 1; i < used.size(); ++i) REQUIRE(used[i - 1].second <= used[i].first);
}

TEST_CASE("slabs: small arrays share memory of at most 16 MiB, large ones have their own") {
    const auto places = place(
        {1000, kLarge, 1000, kLarge - 64, kLarge - 64, kLarge - 64, kLarge - 64, kLarge, 1000});
    CHECK(places[0].memory == places[2].memory);
    CHECK(places[0].memory->size() == Slabs::kMost);
    CHECK(places[1].memory->size() == kLarge);
    CHECK(places[1].memory != places[7].memory);
    CHECK(places[1].memory.use_count() == 1);
    CHECK(places[6].memory != places[0].memory);
    for (const Place& one : places) CHECK(one.memory->size() <= Slabs::kMost);
}

TEST_CASE("slabs: takes no more memory than the rest of the arrays needs") {
    const auto places = place({1, 64, 65, 1000});
    CHECK(places[0].memory == places[3].memory);
    CHECK(places[0].memory->size() == 64 + 64 + 128 + 1024);
    // The last slab is as large as the rest.
    std::vector<std::uint64_t> sizes(20, 1 << 20);
    const auto many = place(sizes);
    CHECK(many[0].memory->size() == Slabs::kMost);
    CHECK(many[15].memory == many[0].memory);
    CHECK(many[16].memory->size() == 4 << 20);
    CHECK(many[19].memory == many[16].memory);
}

TEST_CASE("slabs: an array that is kept keeps its slab, and no other") {
    auto places = place(std::vector<std::uint64_t>(40, 1 << 20));
    const Place kept = places[20];
    std::vector<std::weak_ptr<source::OwnedBytes>> slabs;
    for (const Place& one : places) slabs.emplace_back(one.memory);
    places.clear();
    for (std::size_t i = 0; i < slabs.size(); ++i) {
        CHECK(slabs[i].expired() == (i < 16 || i >= 32));
    }
}

}  // namespace onnxmap::test
