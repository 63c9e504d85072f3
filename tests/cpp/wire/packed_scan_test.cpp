#include "wire/packed_scan.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <random>

#include "placed_bytes.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

// Byte by byte, with a counter.
struct SlowScan {
    bool good = true;
    int unfinished = 0;

    void feed(ByteView bytes) {
        for (const std::uint8_t byte : bytes) {
            unfinished = byte >= 0x80 ? unfinished + 1 : 0;
            if (unfinished == 10) good = false;
        }
    }
};

// Gives the parts to both scans. Returns false if the results differ.
template <std::size_t N>
bool agree(const std::array<ByteView, N>& parts) {
    wire::PackedScan fast;
    SlowScan slow;
    for (const ByteView part : parts) {
        const bool good = fast.feed(part);
        slow.feed(part);
        if (good != slow.good) return false;
        if (!good) return true;  // the run is refused; the state of the scan is meaningless then
        if (fast.unfinished() != slow.unfinished) return false;
        if (fast.complete() != (slow.unfinished == 0)) return false;
    }
    return true;
}

bool agree_at_every_split(ByteView run) {
    for (std::size_t i = 0; i <= run.size(); ++i) {
        if (!agree(std::array{run.first(i), run.subspan(i)})) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("packed_scan: every pattern of continuation bits in 13 bytes, split at every place") {
    for (std::size_t length = 0; length <= 13; ++length) {
        for (std::uint32_t pattern = 0; pattern < 1U << length; ++pattern) {
            Bytes run;
            for (std::size_t i = 0; i < length; ++i) {
                run.push_back((pattern >> i & 1) != 0 ? 0x80 : 0x7f);
            }
            REQUIRE(agree_at_every_split(run));
        }
    }
}

TEST_CASE("packed_scan: rows of continuation bytes of every length, at every place and split") {
    for (std::size_t before = 0; before < 20; ++before) {
        for (std::size_t row = 0; row <= 22; ++row) {
            const Bytes run = join(repeat(before, {0x01}), repeat(row, {0xff}), repeat(9, {0x00}));
            for (std::size_t i = 0; i <= run.size(); ++i) {
                const ByteView view = run;
                for (std::size_t k = i; k <= run.size(); ++k) {
                    REQUIRE(
                        agree(std::array{view.first(i), view.subspan(i, k - i), view.subspan(k)}));
                }
            }
        }
    }
}

TEST_CASE("packed_scan: rows of continuation bytes across the ends of blocks of 64") {
    for (std::size_t before = 0; before < 140; ++before) {
        for (const std::size_t row : {8UL, 9UL, 10UL, 11UL, 64UL, 70UL}) {
            const Bytes run = join(repeat(before, {0x01}), repeat(row, {0xff}), repeat(70, {0x00}));
            const HeapCopy copy(run);
            REQUIRE(agree(std::array{copy.view()}));
            for (const std::size_t i : {1UL, 7UL, 63UL, 64UL, 65UL, 128UL, before + row}) {
                if (i > run.size()) continue;
                REQUIRE(agree(std::array{copy.view().first(i), copy.view().subspan(i)}));
            }
        }
        // Two rows of ten bytes together, with another byte between them.
        const Bytes apart = join(repeat(before, {0x01}), repeat(5, {0xff}), Bytes{0x01},
                                 repeat(5, {0xff}), repeat(70, {0x00}));
        REQUIRE(agree(std::array{ByteView(apart)}));
    }
}

TEST_CASE("packed_scan: random runs in random parts") {
    std::mt19937_64 random(1);
    for (unsigned round = 0; round < 2000; ++round) {
        Bytes run(random() % 700);
        // Most bytes are continuation bytes, so rows of nine and ten are common.
        for (std::uint8_t& byte : run) byte = random() % (3 + round % 8) < 2 ? 0x05 : 0x95;
        wire::PackedScan fast;
        SlowScan slow;
        for (std::size_t at = 0; at < run.size() && slow.good;) {
            const std::size_t size = std::min<std::size_t>(random() % 200, run.size() - at);
            const HeapCopy part(ByteView(run).subspan(at, size));
            slow.feed(part.view());
            REQUIRE(fast.feed(part.view()) == slow.good);
            if (slow.good) REQUIRE(fast.unfinished() == slow.unfinished);
            at += size;
        }
    }
}

}  // namespace onnxmap::test
