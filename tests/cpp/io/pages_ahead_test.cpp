#include "io/pages_ahead.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "cold_file.hpp"
#include "io/file.hpp"
#include "io/window.hpp"

namespace onnxmap::test {

namespace {

constexpr std::uint64_t kStep = 40 << 10;  // a small jump

// Walks with jumps of kStep, without reading anything.
void jump(io::PagesAhead& ahead, const io::File& file, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t at = begin; at < end; at += kStep) ahead.walk_to(file, at, kStep);
}

}  // namespace

TEST_CASE("pages_ahead: what lies between small jumps comes before the walk does") {
    const ColdFile cold(8 << 20, io::IoMode::mmap);
    if (!cold.on_disk()) return;
    const io::File file = io::File::open(cold.path);
    REQUIRE(cold.count_there() == 0);
    io::PagesAhead ahead;
    jump(ahead, file, 0, 4 << 20);
    CHECK(cold.comes(0, ((4 << 20) + io::PagesAhead::kLeast) / page()));
}

TEST_CASE("pages_ahead: nothing is asked for that is far away") {
    const ColdFile cold(32 << 20, io::IoMode::mmap);
    if (!cold.on_disk()) return;
    const io::File file = io::File::open(cold.path);
    io::PagesAhead ahead;
    for (std::uint64_t at = 0; at < cold.bytes.size(); at += 1 << 20) {
        ahead.walk_to(file, at, 1 << 20);
    }
    CHECK(cold.asked_for(0, cold.bytes.size() / page()) == 0);
    // And after small jumps no more; what is asked for behind far ones is little again.
    jump(ahead, file, 0, 4 << 20);
    CHECK(cold.comes(0, (4 << 20) / page()));
    for (std::uint64_t at = 12 << 20; at <= 24 << 20; at += 1 << 20) {
        ahead.walk_to(file, at, 1 << 20);
    }
    CHECK(cold.asked_for((12 << 20) / page(), (32 << 20) / page()) == 0);
    ahead.walk_to(file, (24 << 20) + kStep, kStep);
    CHECK(cold.asked_for((12 << 20) / page(), (32 << 20) / page()) ==
          io::PagesAhead::kLeast / page());
}

TEST_CASE("pages_ahead: straight on, the system reads ahead by itself") {
    const ColdFile cold(4 << 20, io::IoMode::mmap);
    if (!cold.on_disk()) return;
    const io::File file = io::File::open(cold.path);
    io::PagesAhead ahead;
    for (std::uint64_t at = 0; at < cold.bytes.size(); at += 4096) ahead.walk_to(file, at, 0);
    CHECK(cold.asked_for(0, cold.bytes.size() / page()) == 0);
}

TEST_CASE("pages_ahead: bytes in memory are not asked for") {
    const ColdFile cold(8 << 20, io::IoMode::mmap);
    if (!cold.on_disk()) return;
    const io::File file = io::File::open(cold.path);
    io::PagesAhead ahead;
    cold.bring(0, 1);  // where it looks
    jump(ahead, file, 0, io::PagesAhead::kLookEvery);
    CHECK(cold.asked_for(0, cold.bytes.size() / page()) == 1);
    // Behind that it looks again.
    jump(ahead, file, io::PagesAhead::kLookEvery, 4 << 20);
    const std::uint64_t looked = io::PagesAhead::kLookEvery / page();
    CHECK(cold.comes(looked + kStep / page(), (4 << 20) / page() - looked - kStep / page()));
}

TEST_CASE("pages_ahead: nothing is asked for behind the end, or twice") {
    const ColdFile cold(1 << 20, io::IoMode::mmap);
    if (!cold.on_disk()) return;
    const io::File file = io::File::open(cold.path);
    io::PagesAhead ahead;
    jump(ahead, file, 0, 1 << 20);
    CHECK(cold.comes(0, (1 << 20) / page()));
    cold.drop();
    jump(ahead, file, 0, 1 << 20);
    CHECK(cold.asked_for(0, (1 << 20) / page()) == 0);
}

TEST_CASE("pages_ahead: what comes next is asked for before the walk is there") {
    const ColdFile cold(8 << 20, io::IoMode::mmap);
    if (!cold.on_disk()) return;
    const io::File file = io::File::open(cold.path);
    io::PagesAhead ahead;
    jump(ahead, file, 0, 1 << 20);
    CHECK(cold.comes(0, (1 << 20) / page()));
    cold.drop();
    std::uint64_t at = 1 << 20;
    const std::uint64_t pages = cold.bytes.size() / page();
    for (; cold.asked_for(0, pages) == 0 && at < cold.bytes.size(); at += kStep) {
        ahead.walk_to(file, at, kStep);
    }
    CHECK(cold.asked_for(0, pages) > 0);
    CHECK(cold.asked_for(0, at / page()) == 0);
}

TEST_CASE("pages_ahead: both feeds of a file ask") {
    for (const io::IoMode mode : {io::IoMode::mmap, io::IoMode::read}) {
        const ColdFile cold(8 << 20, mode);
        if (!cold.on_disk()) return;
        const auto feed = cold.source->feed();
        for (std::uint64_t at = 0; at < 4 << 20; at += kStep) {
            const ByteView view = feed->at(at, 16);
            REQUIRE(view.front() == cold.bytes[at]);
        }
        CHECK(cold.comes(kStep / page(), (4 << 20) / page() - kStep / page()));
    }
}

}  // namespace onnxmap::test
