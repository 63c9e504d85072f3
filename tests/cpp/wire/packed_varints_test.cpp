#include "wire/packed_varints.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "caught.hpp"
#include "placed_bytes.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

using Numbers = std::vector<std::uint64_t>;

// What PackedVarints, which reads byte by byte, makes of a run.
struct Slow {
    explicit Slow(ByteView run) {
        code = code_of([&] {
            wire::PackedVarints reader(run);
            for (std::uint64_t value; reader.next(value);) values.push_back(value);
            return 0;
        });
    }

    Numbers values;
    std::string code;
};

// What decode_varints makes of it; each value must be stored once, below `count`.
struct Fast {
    Fast(ByteView run, std::uint64_t count) : values(count), stored(count) {
        code = code_of([&] {
            found = wire::decode_varints(run, count, [&](std::uint64_t i, std::uint64_t value) {
                values.at(i) = value;
                ++stored.at(i);
            });
            return 0;
        });
    }

    [[nodiscard]] bool all_once() const {
        return std::ranges::all_of(stored, [](int times) { return times == 1; });
    }

    Numbers values;
    std::vector<int> stored;
    std::uint64_t found = 0;
    std::string code;
};

// At the end of a page: a byte too many is noticed in every build.
bool same_as_slow(GuardedPages& pages, const Bytes& bytes) {
    const ByteView run = pages.place(bytes);
    const Slow slow(run);
    if (slow.code != "accepted" || wire::count_varints(run) != slow.values.size()) return false;
    const Fast fast(run, slow.values.size());
    return fast.code == "accepted" && fast.found == slow.values.size() && fast.all_once() &&
           fast.values == slow.values;
}

// Any value, of any length up to ten bytes.
Bytes random_varint(std::mt19937_64& random, std::size_t shortest, std::size_t longest) {
    const std::size_t length = shortest + random() % (longest - shortest + 1);
    Bytes bytes(length);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() | 0x80);
    bytes.back() &= 0x7f;
    return bytes;
}

Bytes random_run(std::mt19937_64& random, std::size_t count, std::size_t shortest,
                 std::size_t longest) {
    Bytes run;
    for (std::size_t i = 0; i < count; ++i) append(run, random_varint(random, shortest, longest));
    return run;
}

}  // namespace

TEST_CASE("packed_varints: counting is right for every length of the run") {
    GuardedPages pages(6000);
    std::mt19937_64 random(4);
    // Past 255 words of eight bytes, where a byte of the running sum would be full.
    for (std::size_t length = 0; length < 6000; length += length < 100 ? 1 : 97) {
        Bytes run(length);
        std::uint64_t expected = 0;
        for (std::uint8_t& byte : run) {
            byte = static_cast<std::uint8_t>(random());
            expected += byte < 0x80;
        }
        REQUIRE(wire::count_varints(pages.place(run)) == expected);
        REQUIRE(wire::count_varints(pages.place(Bytes(length, 0x7f))) == length);
        REQUIRE(wire::count_varints(pages.place(Bytes(length, 0x80))) == 0);
    }
}

TEST_CASE("packed_varints: gathering has the value of every length up to eight bytes") {
    CHECK(wire::gather_varint(0x7f) == 0x7f);
    CHECK(wire::gather_varint(0x7fff) == 0x3fff);
    CHECK(wire::gather_varint(0x7fff'ffff'ffff'ffff) == (1ULL << 56) - 1);
    for (unsigned byte = 0; byte < 8; ++byte) {
        for (unsigned bit = 0; bit < 7; ++bit) {
            REQUIRE(wire::gather_varint(1ULL << (8 * byte + bit)) == 1ULL << (7 * byte + bit));
        }
        REQUIRE(wire::gather_varint(0x80ULL << (8 * byte)) == 0);
    }
}

TEST_CASE("packed_varints: a run is cut only behind a varint") {
    const Bytes run = join(varint(1), varint(300), varint(UINT64_MAX), varint(7));
    const Numbers ends = {0, 1, 3, 3, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13};
    REQUIRE(ends.size() == run.size());
    for (std::size_t at = 0; at < run.size(); ++at) {
        CAPTURE(at);
        CHECK(wire::varint_end(run, at) == ends[at]);
    }
    CHECK(wire::varint_end(run, run.size()) == run.size());
    CHECK(wire::varint_end(run, run.size() + 5) == run.size());
    CHECK(wire::varint_end(Bytes(5, 0x80), 2) == 5);  // malformed: no varint ends there
    CHECK(wire::varint_end({}, 0) == 0);
}

TEST_CASE("packed_varints: a value of every length at every place of a short run") {
    GuardedPages pages(500);
    std::mt19937_64 random(1);
    for (std::size_t length = 1; length <= 10; ++length) {
        for (std::size_t before = 0; before <= 45; ++before) {
            for (const std::size_t behind : {0UL, 1UL, 9UL, 10UL, 11UL, 40UL}) {
                const Bytes run =
                    join(repeat(before, {0x01}), random_varint(random, length, length),
                         repeat(behind, {0x02}));
                REQUIRE(same_as_slow(pages, run));
            }
        }
    }
}

TEST_CASE("packed_varints: bits above the 63rd are dropped") {
    const Bytes nine = repeat(9, {0xff});
    for (const unsigned last : {0x00U, 0x01U, 0x02U, 0x7eU, 0x7fU}) {
        const Bytes one = join(nine, Bytes{static_cast<std::uint8_t>(last)});
        const std::uint64_t expected = (last & 1) != 0 ? UINT64_MAX : UINT64_MAX >> 1;
        // Alone it goes the slow way; in front of others the fast one.
        for (const std::size_t count : {1UL, 3UL, 100UL}) {
            const Bytes run = repeat(count, one);
            const Fast fast(run, count);
            REQUIRE(fast.code == "accepted");
            CHECK(fast.values == Numbers(count, expected));
        }
    }
    const Fast long_zeros(repeat(50, varint(0, 10)), 50);
    CHECK(long_zeros.values == Numbers(50, 0));
}

TEST_CASE("packed_varints: runs of one length alone, and of any") {
    GuardedPages pages(30'000);
    std::mt19937_64 random(2);
    for (std::size_t count = 0; count < 130; ++count) {
        for (std::size_t length = 1; length <= 10; ++length) {
            REQUIRE(same_as_slow(pages, random_run(random, count, length, length)));
        }
        for (const std::size_t longest : {2UL, 3UL, 5UL, 9UL, 10UL}) {
            REQUIRE(same_as_slow(pages, random_run(random, count, 1, longest)));
        }
    }
    for (int round = 0; round < 100; ++round) {
        REQUIRE(same_as_slow(pages, random_run(random, 2000, 1, 10)));
    }
}

TEST_CASE("packed_varints: streams of very different sizes") {
    GuardedPages pages(30'000);
    std::mt19937_64 random(3);
    // The four quarters of the bytes hold very different numbers of values.
    for (int round = 0; round < 200; ++round) {
        Bytes run;
        for (int part = 0; part < 6; ++part) {
            const std::size_t length = random() % 2 == 0 ? 1 : 10;
            append(run, random_run(random, random() % 60, length, length));
        }
        REQUIRE(same_as_slow(pages, run));
    }
}

TEST_CASE("packed_varints: a run that is cut anywhere") {
    GuardedPages pages(1000);
    std::mt19937_64 random(5);
    for (int round = 0; round < 20; ++round) {
        const Bytes whole = random_run(random, 30, 1, 10);
        for (std::size_t size = 0; size <= whole.size(); ++size) {
            const ByteView run = pages.place(ByteView(whole).first(size));
            const Slow slow(run);
            const Fast fast(run, wire::count_varints(run));
            CAPTURE(size);
            REQUIRE(fast.code == slow.code);
            if (slow.code == "accepted") REQUIRE(fast.values == slow.values);
        }
    }
}

TEST_CASE("packed_varints: eleven bytes and more, anywhere") {
    GuardedPages pages(1000);
    for (const std::size_t length : {11UL, 12UL, 20UL, 21UL, 64UL}) {
        for (std::size_t before = 0; before < 60; before += 7) {
            for (std::size_t behind = 0; behind < 60; behind += 3) {
                const ByteView run = pages.place(
                    join(repeat(before, {0x01}), varint(0, length), repeat(behind, {0x02})));
                CAPTURE(length);
                CAPTURE(before);
                CAPTURE(behind);
                REQUIRE(Slow(run).code == "wire.varint_too_long");
                REQUIRE(Fast(run, before + 1 + behind).code == "wire.varint_too_long");
            }
        }
    }
}

TEST_CASE("packed_varints: a tenth byte that goes on is refused, among others that do not") {
    GuardedPages pages(3000);
    for (std::size_t bad = 0; bad < 100; ++bad) {
        Bytes run;
        for (std::size_t i = 0; i < 100; ++i) append(run, varint(i, i == bad ? 11 : 10));
        const ByteView placed = pages.place(run);
        REQUIRE(Fast(placed, 100).code == "wire.varint_too_long");
    }
}

TEST_CASE("packed_varints: another number of values than the run has") {
    GuardedPages pages(3000);
    std::mt19937_64 random(6);
    for (const std::size_t longest : {1UL, 3UL, 10UL}) {
        for (const std::uint64_t has : {1ULL, 5ULL, 40ULL, 200ULL}) {
            const ByteView run = pages.place(random_run(random, has, 1, longest));
            for (const std::uint64_t asked : {has + 1, has + 3, has * 2, has * 10}) {
                CAPTURE(longest);
                CAPTURE(asked);
                // Nothing is stored behind `asked`: Fast would throw std::out_of_range.
                const Fast fast(run, asked);
                CHECK(fast.code == "accepted");
                CHECK(fast.found == 0);
            }
        }
    }
    // Bytes that were all short when they were counted, and are not any more.
    CHECK(Fast(Bytes{1, 2, 0x83, 4}, 4).found == 0);
    const Fast none({}, 0);
    CHECK(none.code == "accepted");
    CHECK(none.found == 0);
}

TEST_CASE("packed_varints: fewer values than the run has are never stored behind their number") {
    std::mt19937_64 random(7);
    for (std::size_t has = 1; has < 120; ++has) {
        const Bytes run = random_run(random, has, 1, 10);
        for (std::uint64_t asked = 0; asked < has; asked += 1 + asked / 4) {
            const Fast fast(run, asked);
            // Whether that is refused is for the caller, who counted them; see typed_values_test.
            REQUIRE(fast.code == "accepted");
            REQUIRE((fast.found == 0 || fast.found == asked));
        }
    }
}

}  // namespace onnxmap::test
