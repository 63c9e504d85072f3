#include "kernels/kernel_set.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "each_kernel_set.hpp"
#include "kernels/scalar.hpp"
#include "placed_bytes.hpp"
#include "slow_kernels.hpp"

namespace onnxmap::test {

namespace {

using kernels::KernelSet;

constexpr std::size_t kLongest = 200;  // elements: three times as many as the widest step of a loop

struct Operation {
    std::string_view name;
    kernels::Kernel KernelSet::* kernel;
    kernels::Kernel plain;  // by the scalar set
    std::size_t bits_from;  // for one element
    std::size_t bytes_to;
};

constexpr Operation kOperations[] = {
    {"unpack2", &KernelSet::unpack2, kernels::scalar::unpack2, 2, 1},
    {"unpack4", &KernelSet::unpack4, kernels::scalar::unpack4, 4, 1},
    {"unpack6", &KernelSet::unpack6, kernels::scalar::unpack6, 6, 1},
    {"float16_to_float32", &KernelSet::float16_to_float32, kernels::scalar::float16_to_float32, 16,
     4},
    {"bfloat16_to_float32", &KernelSet::bfloat16_to_float32, kernels::scalar::bfloat16_to_float32,
     16, 4},
    {"float32_to_float16", &KernelSet::float32_to_float16, kernels::scalar::float32_to_float16, 32,
     2},
    {"float32_to_bfloat16", &KernelSet::float32_to_bfloat16, kernels::scalar::float32_to_bfloat16,
     32, 2},
};

std::size_t nbytes_from(const Operation& operation, std::size_t count) {
    return (count * operation.bits_from + 7) / 8;
}

Bytes random_bytes(std::mt19937_64& random, std::size_t size) {
    Bytes bytes(size);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    // Random bits have fewer zeros, ones and infinities than weights.
    if (random() % 4 == 0) std::fill(bytes.begin(), bytes.end(), random() % 2 == 0 ? 0x00 : 0xff);
    return bytes;
}

Bytes plain_result(const Operation& operation, ByteView from, std::size_t count) {
    Bytes to(count * operation.bytes_to);
    operation.plain(from.data(), count, to.data());
    return to;
}

using Table = std::array<std::uint32_t, 256>;

Table random_table(std::mt19937_64& random) {
    Table table;
    for (std::uint32_t& entry : table) entry = static_cast<std::uint32_t>(random());
    return table;
}

Bytes look_up_slowly(ByteView from, const Table& table) {
    Bytes bytes;
    for (const std::uint8_t code : from) append(bytes, little_endian(table[code], 4));
    return bytes;
}

}  // namespace

TEST_CASE("kernel_set: the scalar set is always there, and each set can be chosen") {
    const auto sets = kernels::supported_sets();
    REQUIRE_FALSE(sets.empty());
    CHECK(sets.front()->name == "scalar");
    const std::string_view before = kernels::kernels().name;
    CHECK(before == sets.back()->name);  // the best set, unless the environment chose another
    for (const KernelSet* set : sets) {
        CHECK(set->supported());
        CHECK(kernels::use_set(set->name));
        CHECK(&kernels::kernels() == set);
    }
    CHECK_FALSE(kernels::use_set("no such set"));
    CHECK_FALSE(kernels::use_set(""));
    CHECK(&kernels::kernels() == sets.back());
    CHECK(kernels::use_set(before));
#if defined(__x86_64__)
    std::ifstream file("/proc/cpuinfo");
    const std::string flags{std::istreambuf_iterator<char>(file), {}};
    const bool avx2 =
        std::ranges::all_of(std::array{" avx2 ", " f16c ", " bmi1 ", " bmi2 "},
                            [&](const char* flag) { return flags.find(flag) != flags.npos; });
    CHECK(sets.size() == (avx2 ? 2 : 1));
#elif defined(__aarch64__)
    CHECK(sets.size() == 2);
#else
    CHECK(sets.size() == 1);
#endif
}

TEST_CASE("kernel_set: unpacking agrees with unpacking bit by bit") {
    std::mt19937_64 random(1);
    with_each_set([&](const KernelSet& set) {
        for (const Operation& operation : kOperations) {
            if (operation.bits_from > 8) continue;
            CAPTURE(std::string(operation.name));
            for (const std::size_t count : {1UL, 33UL, 100UL, 9999UL}) {
                const Bytes from = random_bytes(random, nbytes_from(operation, count));
                Bytes to(count);
                (set.*operation.kernel)(from.data(), count, to.data());
                REQUIRE(to == unpack_slowly(from, operation.bits_from, count));
            }
        }
    });
}

TEST_CASE("kernel_set: every code is right at every place of its group") {
    with_each_set([&](const KernelSet& set) {
        for (const Operation& operation : kOperations) {
            const std::size_t bits = operation.bits_from;
            if (bits > 8) continue;
            CAPTURE(std::string(operation.name));
            for (unsigned code = 0; code < 1U << bits; ++code) {
                for (std::size_t place = 0; place < 64; ++place) {
                    for (const unsigned others : {0x00U, 0xffU}) {
                        Bytes codes(64, static_cast<std::uint8_t>(others & ((1U << bits) - 1)));
                        codes[place] = static_cast<std::uint8_t>(code);
                        const Bytes from = pack_slowly(codes, bits);
                        Bytes to(codes.size());
                        (set.*operation.kernel)(from.data(), codes.size(), to.data());
                        REQUIRE(to == codes);
                    }
                }
            }
        }
    });
}

TEST_CASE("kernel_set: no byte outside is touched, whatever the length") {
    GuardedPages from_pages(4 * kLongest);
    GuardedPages to_pages(4 * kLongest);
    std::mt19937_64 random(2);
    with_each_set([&](const KernelSet& set) {
        for (const Operation& operation : kOperations) {
            CAPTURE(std::string(operation.name));
            for (std::size_t count = 0; count <= kLongest; ++count) {
                const Bytes bytes = random_bytes(random, nbytes_from(operation, count));
                const Bytes expected = plain_result(operation, bytes, count);
                const std::size_t size = expected.size();
                // At the end of the mapped memory, and at its start.
                std::uint8_t* to = to_pages.last(size);
                (set.*operation.kernel)(from_pages.place(bytes).data(), count, to);
                REQUIRE(join(ByteView(to, size)) == expected);
                to = to_pages.first();
                (set.*operation.kernel)(from_pages.place_first(bytes).data(), count, to);
                REQUIRE(join(ByteView(to, size)) == expected);
            }
        }
    });
}

TEST_CASE("kernel_set: input and output may be misaligned, and no other byte is written") {
    constexpr std::size_t kMargin = 64;
    std::mt19937_64 random(3);
    Bytes from_room(32 + 4 * kLongest);
    Bytes to_room(32 + 4 * kLongest + 2 * kMargin);
    with_each_set([&](const KernelSet& set) {
        for (const Operation& operation : kOperations) {
            CAPTURE(std::string(operation.name));
            for (std::size_t shift = 0; shift < 32; ++shift) {
                for (std::size_t count = 0; count <= kLongest; ++count) {
                    const Bytes bytes = random_bytes(random, nbytes_from(operation, count));
                    const Bytes expected = plain_result(operation, bytes, count);
                    std::copy(bytes.begin(), bytes.end(), from_room.data() + shift);
                    std::fill(to_room.begin(), to_room.end(), 0xa5);
                    std::uint8_t* to = to_room.data() + kMargin + (7 * shift + count) % 32;
                    (set.*operation.kernel)(from_room.data() + shift, count, to);
                    const ByteView written(to, expected.size());
                    REQUIRE(join(written) == expected);
                    std::fill(to, to + expected.size(), 0xa5);
                    REQUIRE(std::ranges::all_of(to_room, [](auto byte) { return byte == 0xa5; }));
                }
            }
        }
    });
}

TEST_CASE("kernel_set: every 16-bit code and the float32 around it are converted right") {
    Bytes halves;
    Bytes floats;
    std::mt19937_64 random(4);
    for (std::uint32_t code = 0; code < 0x1'0000; ++code) {
        append(halves, little_endian(code, 2));
        // The code is the upper half of a float32, so a bfloat16. Each kind of lower half is tried.
        for (const std::uint32_t low : {0x0000U, 0x7fffU, 0x8000U, 0x8001U}) {
            append(floats, little_endian(code << 16 | low, 4));
        }
        append(floats, little_endian(random() & 0xffff'ffff, 4));
    }
    with_each_set([&](const KernelSet& set) {
        for (const Operation& operation : kOperations) {
            if (operation.bits_from < 16) continue;
            CAPTURE(std::string(operation.name));
            const Bytes& from = operation.bits_from == 16 ? halves : floats;
            const std::size_t count = from.size() * 8 / operation.bits_from;
            Bytes to(count * operation.bytes_to);
            (set.*operation.kernel)(from.data(), count, to.data());
            REQUIRE(to == plain_result(operation, from, count));
        }
    });
}

TEST_CASE("kernel_set: one NaN among numbers is converted right at every place") {
    with_each_set([&](const KernelSet& set) {
        for (const Operation& operation : kOperations) {
            if (operation.bits_from != 32) continue;
            CAPTURE(std::string(operation.name));
            for (std::size_t place = 0; place < 40; ++place) {
                for (const std::uint32_t nan : {0x7f80'0001U, 0xff80'2000U, 0x7fff'ffffU}) {
                    Bytes from;
                    for (std::size_t i = 0; i < 40; ++i) {
                        append(from, little_endian(i == place ? nan : 0x3f80'0fff + (i << 13), 4));
                    }
                    Bytes to(80);
                    (set.*operation.kernel)(from.data(), 40, to.data());
                    REQUIRE(to == plain_result(operation, from, 40));
                }
            }
        }
    });
}

TEST_CASE("kernel_set: a lookup gives the table's entry for each code") {
    GuardedPages from_pages(kLongest);
    GuardedPages to_pages(4 * kLongest);
    std::mt19937_64 random(5);
    const Table table = random_table(random);
    Bytes all(256);
    for (std::size_t code = 0; code < all.size(); ++code) all[code] = std::uint8_t(code);
    with_each_set([&](const KernelSet& set) {
        Bytes to(1024);
        set.look_up(all.data(), all.size(), table.data(), to.data());
        CHECK(to == look_up_slowly(all, table));
        for (std::size_t count = 0; count <= kLongest; ++count) {
            const Bytes from = random_bytes(random, count);
            const Bytes expected = look_up_slowly(from, table);
            set.look_up(from_pages.place(from).data(), count, table.data(),
                        to_pages.last(4 * count));
            REQUIRE(join(ByteView(to_pages.last(4 * count), 4 * count)) == expected);
            set.look_up(from_pages.place_first(from).data(), count, table.data(), to_pages.first());
            REQUIRE(join(ByteView(to_pages.first(), 4 * count)) == expected);
        }
        for (std::size_t shift = 0; shift < 32; ++shift) {
            const Bytes from = random_bytes(random, shift + kLongest);
            Bytes room(4 * kLongest + 64, 0xa5);
            set.look_up(from.data() + shift, kLongest, table.data(), room.data() + 32 - shift);
            const Bytes expected =
                join(Bytes(32 - shift, 0xa5), look_up_slowly(ByteView(from).subspan(shift), table),
                     Bytes(32 + shift, 0xa5));
            REQUIRE(room == expected);
        }
    });
}

TEST_CASE("kernel_set: packing reverses unpacking") {
    GuardedPages pages(kLongest);
    std::mt19937_64 random(6);
    for (const std::uint32_t bits : {2U, 4U, 6U}) {
        CAPTURE(bits);
        for (std::size_t count = 0; count <= kLongest; ++count) {
            Bytes codes = random_bytes(random, count);  // bits above the code are dropped
            const Bytes expected = pack_slowly(codes, bits);
            std::uint8_t* to = pages.last(expected.size());
            std::fill(to, to + expected.size(), 0xff);  // unused bits of the last byte become zero
            kernels::pack(bits, codes.data(), count, to);
            REQUIRE(join(ByteView(to, expected.size())) == expected);
            for (std::uint8_t& code : codes) code &= std::uint8_t((1U << bits) - 1);
            REQUIRE(unpack_slowly(expected, bits, count) == codes);
        }
    }
}

}  // namespace onnxmap::test
