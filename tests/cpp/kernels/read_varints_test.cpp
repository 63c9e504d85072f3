// Reading packed varints, with each kernel set.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "caught.hpp"
#include "each_kernel_set.hpp"
#include "kernels/kernel_set.hpp"
#include "placed_bytes.hpp"
#include "wire/reader.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

using kernels::KernelSet;
using Numbers = std::vector<std::uint64_t>;

// The values of PackedVarints, which reads byte by byte, up to the first malformed one. And where
// each value ends.
struct Slow {
    explicit Slow(ByteView run) : ends{0} {
        code = code_of([&] {
            wire::PackedVarints reader(run);
            for (std::uint64_t value; reader.next(value);) {
                values.push_back(value);
                std::size_t end = ends.back();
                while (run[end] >= 0x80) ++end;
                ends.push_back(end + 1);
            }
            return 0;
        });
    }

    Numbers values;
    std::vector<std::size_t> ends;
    std::string code;
};

// Whether the kernel keeps its promise for a run at the end and at the start of the mapped memory.
// The output has room for exactly `count` values.
class Judge {
  public:
    explicit Judge(std::size_t most_bytes) : from_(most_bytes), to_(8 * most_bytes + 64) {}

    [[nodiscard]] bool reads_right(const KernelSet& set, const Bytes& run, std::uint64_t count) {
        const Slow slow(run);
        return same(set, slow, from_.place(run), count) &&
               same(set, slow, from_.place_first(run), count);
    }

    // With room for all values of the run.
    [[nodiscard]] bool reads_right(const KernelSet& set, const Bytes& run) {
        return reads_right(set, run, Slow(run).values.size());
    }

  private:
    [[nodiscard]] bool same(const KernelSet& set, const Slow& slow, ByteView run,
                            std::uint64_t count) {
        std::uint8_t* to = to_.last(8 * count);
        std::fill(to, to + 8 * count, 0xa5);
        const std::uint8_t* p = run.data();
        const std::uint8_t* end = p + run.size();
        const std::uint64_t found = set.read_varints(p, end, count, to);
        if (found > count || found > slow.values.size()) return false;
        if (p != run.data() + slow.ends[found]) return false;
        for (std::uint64_t i = 0; i < found; ++i) {
            if (wire::load64(to + 8 * i) != slow.values[i]) return false;
        }
        // The kernel stops for no other reason than these.
        const bool too_long = slow.code == "wire.varint_too_long" && found == slow.values.size();
        return found == count || end - p < 10 || too_long;
    }

    GuardedPages from_;
    GuardedPages to_;
};

Bytes random_varint(std::mt19937_64& random, std::size_t shortest, std::size_t longest) {
    const std::size_t length = shortest + random() % (longest - shortest + 1);
    Bytes bytes;
    while (bytes.size() + 1 < length) {
        bytes.push_back(static_cast<std::uint8_t>(random() | 0x80));
    }
    bytes.push_back(static_cast<std::uint8_t>(random() & 0x7f));
    return bytes;
}

Bytes random_run(std::mt19937_64& random, std::size_t count, std::size_t shortest,
                 std::size_t longest) {
    Bytes run;
    for (std::size_t i = 0; i < count; ++i) append(run, random_varint(random, shortest, longest));
    return run;
}

}  // namespace

TEST_CASE("read_varints: each bit of each length gets to its place") {
    with_each_set([](const KernelSet& set) {
        Judge judge(2000);
        for (std::size_t length = 1; length <= 10; ++length) {
            for (std::size_t bit = 0; bit < std::min<std::size_t>(7 * length, 64); ++bit) {
                const std::uint64_t value = 1ULL << bit;
                // Enough values for the widest step, all of this length.
                const Bytes run = repeat(100, varint(value, length));
                REQUIRE(Slow(run).values == Numbers(100, value));
                REQUIRE(judge.reads_right(set, run));
            }
        }
    });
}

TEST_CASE("read_varints: bits above the 63rd are dropped") {
    with_each_set([](const KernelSet& set) {
        Judge judge(2000);
        for (const unsigned last : {0x00U, 0x01U, 0x02U, 0x7eU, 0x7fU}) {
            const Bytes one = join(repeat(9, {0xff}), Bytes{static_cast<std::uint8_t>(last)});
            const std::uint64_t expected = (last & 1) != 0 ? UINT64_MAX : UINT64_MAX >> 1;
            REQUIRE(Slow(repeat(100, one)).values == Numbers(100, expected));
            REQUIRE(judge.reads_right(set, repeat(100, one)));
        }
    });
}

TEST_CASE("read_varints: a value of any length is right at any place among short ones") {
    with_each_set([](const KernelSet& set) {
        Judge judge(500);
        std::mt19937_64 random(1);
        for (std::size_t length = 1; length <= 10; ++length) {
            for (std::size_t before = 0; before <= 140; ++before) {
                for (const std::size_t behind : {0UL, 1UL, 9UL, 80UL}) {
                    const Bytes run =
                        join(repeat(before, {0x01}), random_varint(random, length, length),
                             repeat(behind, {0x02}));
                    REQUIRE(judge.reads_right(set, run));
                }
            }
        }
    });
}

TEST_CASE("read_varints: runs of one length, and of mixed lengths") {
    with_each_set([](const KernelSet& set) {
        Judge judge(20'000);
        std::mt19937_64 random(2);
        for (std::size_t count = 0; count < 130; ++count) {
            for (std::size_t length = 1; length <= 10; ++length) {
                REQUIRE(judge.reads_right(set, random_run(random, count, length, length)));
            }
            for (const std::size_t longest : {2UL, 3UL, 5UL, 9UL, 10UL}) {
                REQUIRE(judge.reads_right(set, random_run(random, count, 1, longest)));
            }
        }
        for (int round = 0; round < 50; ++round) {
            REQUIRE(judge.reads_right(set, random_run(random, 2000, 1, 10)));
        }
    });
}

TEST_CASE("read_varints: the caller may ask for fewer or more values than the run has") {
    with_each_set([](const KernelSet& set) {
        Judge judge(3000);
        std::mt19937_64 random(3);
        for (const std::size_t longest : {1UL, 2UL, 10UL}) {
            const Bytes run = random_run(random, 150, 1, longest);
            for (std::uint64_t count = 0; count < 230; ++count) {
                REQUIRE(judge.reads_right(set, run, count));
            }
        }
    });
}

TEST_CASE("read_varints: a run may be cut anywhere") {
    with_each_set([](const KernelSet& set) {
        Judge judge(1500);
        std::mt19937_64 random(4);
        const Bytes whole = random_run(random, 100, 1, 10);
        for (std::size_t size = 0; size <= whole.size(); ++size) {
            REQUIRE(judge.reads_right(set, join(ByteView(whole).first(size)), 100));
        }
    });
}

TEST_CASE("read_varints: a value of more than ten bytes is found anywhere") {
    with_each_set([](const KernelSet& set) {
        Judge judge(1000);
        for (const std::size_t length : {11UL, 12UL, 19UL, 20UL, 31UL, 32UL, 33UL, 64UL, 200UL}) {
            for (std::size_t before = 0; before < 150; before += 7) {
                for (const std::size_t behind : {0UL, 5UL, 100UL}) {
                    for (const std::size_t width : {1UL, 2UL}) {
                        const Bytes run = join(repeat(before, varint(1, width)), varint(1, length),
                                               repeat(behind, {0x02}));
                        REQUIRE(Slow(run).code == "wire.varint_too_long");
                        REQUIRE(judge.reads_right(set, run, before + 1 + behind));
                    }
                }
            }
        }
        REQUIRE(judge.reads_right(set, Bytes(500, 0x80), 10));
        REQUIRE(judge.reads_right(set, Bytes(500, 0xff), 500));
    });
}

}  // namespace onnxmap::test
