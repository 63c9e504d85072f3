#include "source/slabs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

namespace onnxmap::test {

namespace {

using source::ArrayMemory;
using source::Slabs;

constexpr std::uint64_t kLarge = source::OwnedBytes::kLeastForHugePages;

std::vector<ArrayMemory> allocate(const std::vector<std::uint64_t>& sizes) {
    std::uint64_t total = 0;
    for (const std::uint64_t nbytes : sizes) total += Slabs::taken(nbytes);
    Slabs slabs(total);
    std::vector<ArrayMemory> arrays;
    for (const std::uint64_t nbytes : sizes) arrays.push_back(slabs.allocate(nbytes));
    return arrays;
}

}  // namespace

TEST_CASE("slabs: arrays are aligned, have their sizes, and do not overlap") {
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t i = 0; i < 3000; ++i) sizes.push_back(i * 7919 % 20'000);
    sizes.insert(sizes.end(), {kLarge - 1, kLarge, kLarge + 1, 0, 1, 63, 64, 65});
    const auto arrays = allocate(sizes);
    std::vector<std::pair<std::uintptr_t, std::uintptr_t>> used;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        REQUIRE(arrays[i].bytes.size() == sizes[i]);
        if (sizes[i] == 0) continue;
        const auto begin = reinterpret_cast<std::uintptr_t>(arrays[i].bytes.data());
        REQUIRE(begin % 64 == 0);
        const auto memory = arrays[i].owner->writable();
        REQUIRE(arrays[i].bytes.data() >= memory.data());
        REQUIRE(arrays[i].bytes.data() + sizes[i] <= memory.data() + memory.size());
        used.emplace_back(begin, begin + sizes[i]);
        std::ranges::fill(arrays[i].bytes, std::uint8_t{0xa5});
    }
    std::ranges::sort(used);
    for (std::size_t i = 1; i < used.size(); ++i) REQUIRE(used[i - 1].second <= used[i].first);
}

TEST_CASE("slabs: small arrays share memory of at most 16 MiB, large ones have their own") {
    const auto arrays = allocate(
        {1000, kLarge, 1000, kLarge - 64, kLarge - 64, kLarge - 64, kLarge - 64, kLarge, 1000});
    CHECK(arrays[0].owner == arrays[2].owner);
    CHECK(arrays[0].owner->size() == Slabs::kMost);
    CHECK(arrays[1].owner->size() == kLarge);
    CHECK(arrays[1].owner != arrays[7].owner);
    CHECK(arrays[1].owner.use_count() == 1);
    CHECK(arrays[6].owner != arrays[0].owner);
    for (const ArrayMemory& one : arrays) CHECK(one.owner->size() <= Slabs::kMost);
}

TEST_CASE("slabs: takes no more memory than the rest of the arrays needs") {
    const auto arrays = allocate({1, 64, 65, 1000});
    CHECK(arrays[0].owner == arrays[3].owner);
    CHECK(arrays[0].owner->size() == 64 + 64 + 128 + 1024);
    // The last slab is as large as the rest.
    std::vector<std::uint64_t> sizes(20, 1 << 20);
    const auto many = allocate(sizes);
    CHECK(many[0].owner->size() == Slabs::kMost);
    CHECK(many[15].owner == many[0].owner);
    CHECK(many[16].owner->size() == 4 << 20);
    CHECK(many[19].owner == many[16].owner);
}

TEST_CASE("slabs: an array that is kept keeps its slab, and no other") {
    auto arrays = allocate(std::vector<std::uint64_t>(40, 1 << 20));
    const ArrayMemory kept = arrays[20];
    std::vector<std::weak_ptr<source::OwnedBytes>> slabs;
    for (const ArrayMemory& one : arrays) slabs.emplace_back(one.owner);
    arrays.clear();
    for (std::size_t i = 0; i < slabs.size(); ++i) {
        CHECK(slabs[i].expired() == (i < 16 || i >= 32));
    }
}

}  // namespace onnxmap::test
