#include "wire/reader.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "caught.hpp"
#include "placed_bytes.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

struct Refusal {
    std::string code;
    std::uint64_t offset;
};

// Reads to the end or to the first error, from a heap copy of the exact size.
Refusal read_all(const Bytes& bytes) {
    const HeapCopy copy(bytes);
    wire::Reader reader(copy.view());
    wire::Field field;
    const auto read_on = [&] {
        while (reader.next(field)) {}
        return 0;
    };
    const auto error = error_of(read_on);
    if (!error) return {"accepted", 0};
    const auto again = error_of(read_on);
    REQUIRE(again);
    CHECK_MESSAGE(again->code == error->code, "the position moved although an error was thrown");
    CHECK_MESSAGE(again->offset == error->offset,
                  "the position moved although an error was thrown");
    return {error->code, error->offset.value_or(UINT64_MAX)};
}

struct Case {
    const char* what;
    Bytes bytes;
    const char* code;
};

}  // namespace

TEST_CASE("reader: gives the fields of a message with their values and offsets") {
    const Bytes bytes = join(scalar(1, 300), fixed64(2, 0x0102030405060708), blob(3, "abc"),
                             fixed32(4, 0x3f800000), group(5, scalar(6, 1)), scalar(7, UINT64_MAX));
    wire::Reader reader{ByteView(bytes)};
    wire::Field field;

    REQUIRE(reader.next(field));
    CHECK(field.number == 1);
    CHECK(field.type == WireType::varint);
    CHECK(field.value == 300);
    CHECK(field.begin == bytes.data());
    CHECK(field.end == bytes.data() + 3);

    REQUIRE(reader.next(field));
    CHECK(field.type == WireType::fixed64);
    CHECK(field.value == 0x0102030405060708);

    REQUIRE(reader.next(field));
    CHECK(field.number == 3);
    CHECK(field.text() == "abc");
    CHECK(field.end == field.bytes.data() + 3);

    REQUIRE(reader.next(field));
    CHECK(field.type == WireType::fixed32);
    CHECK(field.float32() == 1.0F);

    REQUIRE(reader.next(field));
    CHECK(field.number == 5);
    CHECK(field.type == WireType::start_group);
    CHECK(join(field.bytes) == scalar(6, 1));
    CHECK(field.end - field.begin == 4);

    REQUIRE(reader.next(field));
    CHECK(field.int32() == -1);
    CHECK(field.int64() == -1);
    CHECK(field.end == bytes.data() + bytes.size());
    CHECK_FALSE(reader.next(field));
    CHECK_FALSE(reader.next(field));
}

TEST_CASE("reader: 32-bit fields have the low 32 bits of any varint") {
    const auto int32_of = [](std::uint64_t value) {
        wire::Field field;
        field.value = value;
        return field.int32();
    };
    CHECK(int32_of((1ULL << 32) + 1) == 1);
    CHECK(int32_of((1ULL << 33) - 1) == -1);
    CHECK(int32_of(INT64_MAX) == -1);
    CHECK(int32_of((1ULL << 63) + 1) == 1);
    CHECK(int32_of(0xffff'ffff) == -1);
}

TEST_CASE(
    "reader: accepts over-long tags and lengths of five bytes, and the largest field number") {
    const Bytes bytes = join(tag(1, WireType::varint, 5), varint(8, 10), blob(2, from_text("a"), 5),
                             scalar((1U << 29) - 1, 1));
    wire::Reader reader{ByteView(bytes)};
    wire::Field field;
    REQUIRE(reader.next(field));
    CHECK(field.number == 1);
    CHECK(field.value == 8);
    REQUIRE(reader.next(field));
    CHECK(field.text() == "a");
    REQUIRE(reader.next(field));
    CHECK(field.number == (1U << 29) - 1);
}

TEST_CASE("reader: each error has its code and the offset of the bad field") {
    const Case cases[] = {
        {"tag cut", {0x88}, "wire.truncated"},
        {"varint missing", tag(1, WireType::varint), "wire.truncated"},
        {"varint cut", from_hex("0880"), "wire.truncated"},
        {"varint of eleven bytes", join(tag(1, WireType::varint), varint(1, 11)),
         "wire.varint_too_long"},
        {"fixed64 cut", join(tag(1, WireType::fixed64), Bytes(7)), "wire.truncated"},
        {"fixed32 cut", join(tag(1, WireType::fixed32), Bytes(3)), "wire.truncated"},
        {"length missing", tag(1, WireType::length_delimited), "wire.truncated"},
        {"length past the end", from_hex("0a0461"), "wire.length_overrun"},
        {"length past the end by one", from_hex("0a0261"), "wire.length_overrun"},
        {"length up to the end", from_hex("0a0161"), "accepted"},
        {"length of 2^64 - 1", join(tag(1, WireType::length_delimited), varint(UINT64_MAX)),
         "wire.length_overrun"},
        {"tag of six bytes", join(tag(1, WireType::varint, 6), varint(1)), "wire.tag_too_long"},
        {"tag of eleven bytes", join(varint(8, 11), varint(1)), "wire.tag_too_long"},
        {"field number 0", from_hex("0001"), "wire.field_number"},
        {"field number 2^29", join(varint(1ULL << 32, 5), varint(1)), "wire.field_number"},
        {"wire type 6", from_hex("0e01"), "wire.wire_type"},
        {"wire type 7", from_hex("0f01"), "wire.wire_type"},
        {"group that never began", tag(1, WireType::end_group), "wire.end_group"},
        {"group never closed", tag(1, WireType::start_group), "wire.truncated"},
        {"group closed as another",
         join(tag(1, WireType::start_group), tag(2, WireType::end_group)), "wire.group_mismatch"},
        {"outer group closed before the inner",
         join(tag(1, WireType::start_group), tag(2, WireType::start_group),
              tag(1, WireType::end_group)),
         "wire.group_mismatch"},
        {"field number 0 in a group", group(1, from_hex("0001")), "wire.field_number"},
        {"wire type 7 in a group", group(1, from_hex("0f")), "wire.wire_type"},
    };
    for (const Case& one : cases) {
        CAPTURE(one.what);
        const Refusal alone = read_all(one.bytes);
        CHECK(alone.code == one.code);
        CHECK(alone.offset == 0);
        const Bytes before = join(scalar(1, 1), blob(2, "ab"));
        const Refusal later = read_all(join(before, one.bytes));
        CHECK(later.code == one.code);
        if (later.code != "accepted") CHECK(later.offset == before.size());
    }
}

TEST_CASE("reader: groups of any depth need no stack") {
    constexpr std::size_t kDepth = 100'000;
    const Bytes bytes = join(repeat(kDepth, {0x0b}), repeat(kDepth, {0x0c}));
    wire::Reader reader{ByteView(bytes)};
    wire::Field field;
    REQUIRE(reader.next(field));
    CHECK(field.bytes.size() == 2 * kDepth - 2);
    CHECK(read_all(repeat(kDepth, {0x0b})).code == "wire.truncated");
}

TEST_CASE("reader: may start in the middle, and counts offsets from there") {
    const Bytes bytes = join(scalar(1, 1), scalar(2, 2), from_hex("00"));
    wire::Reader reader(bytes.data() + 2, bytes.data() + bytes.size());
    wire::Field field;
    REQUIRE(reader.next(field));
    CHECK(field.number == 2);
    const auto error = error_of([&] { return reader.next(field); });
    REQUIRE(error);
    CHECK(error->offset == 2);
}

TEST_CASE("reader: random fields are read as they were written") {
    std::mt19937_64 random(11);
    // Tags, values and lengths of about one byte, because one byte has a fast path of its own.
    const std::uint64_t edges[] = {0, 1, 15, 16, 126, 127, 128, 129, 16'383, 16'384, 1U << 21};
    const auto edge = [&] { return edges[random() % std::size(edges)]; };
    for (int round = 0; round < 300; ++round) {
        std::vector<wire::Field> expected;
        Bytes bytes;
        for (std::uint64_t i = random() % 12; i > 0; --i) {
            wire::Field field;
            field.number = static_cast<std::uint32_t>(1 + edge());
            field.value = edge();
            const std::size_t width = random() % 4 == 0 ? random() % 6 : 0;
            const auto type = static_cast<WireType>(random() % 4 == 3 ? 5 : random() % 3);
            field.type = type;
            append(bytes, tag(field.number, type, width));
            if (type == WireType::varint) append(bytes, varint(field.value, width));
            if (type == WireType::fixed32) append(bytes, little_endian(field.value, 4));
            if (type == WireType::fixed64) append(bytes, little_endian(field.value, 8));
            if (type == WireType::length_delimited) {
                field.value = std::min<std::uint64_t>(field.value, 300);
                append(bytes, join(varint(field.value, width), Bytes(field.value, 0x5a)));
            }
            expected.push_back(field);
        }
        const HeapCopy copy(bytes);
        wire::Reader reader(copy.view());
        wire::Field field;
        const std::uint8_t* at = copy.view().data();
        for (const wire::Field& one : expected) {
            REQUIRE(reader.next(field));
            REQUIRE(field.number == one.number);
            REQUIRE(field.type == one.type);
            REQUIRE(field.begin == at);
            at = field.end;
            if (one.type == WireType::length_delimited) {
                REQUIRE(field.bytes.size() == one.value);
                REQUIRE(field.bytes.data() + field.bytes.size() == at);
            } else {
                REQUIRE(field.value == one.value);
            }
        }
        CHECK_FALSE(reader.next(field));
    }
}

TEST_CASE("reader: random bytes before a page without access") {
    std::mt19937_64 random(3);
    GuardedPages pages(64);
    std::size_t accepted = 0;
    for (int round = 0; round < 20'000; ++round) {
        Bytes bytes(random() % 24);
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
        const ByteView placed = pages.place(bytes);
        const std::uint8_t* end = placed.data() + placed.size();
        wire::Reader reader(placed);
        wire::Field field;
        const std::string code = code_of([&] {
            while (reader.next(field)) {
                REQUIRE(field.end <= end);
                REQUIRE(field.bytes.size() <= placed.size());
            }
            return 0;
        });
        accepted += code == "accepted";
    }
    CHECK(accepted > 100);
}

TEST_CASE("reader: gives the varints of a packed run one by one") {
    const Bytes run = join(varint(1), varint(300), varint(UINT64_MAX), varint(8, 10));
    wire::PackedVarints values{ByteView(run)};
    std::uint64_t value = 0;
    for (const std::uint64_t expected : {1ULL, 300ULL, ~0ULL, 8ULL}) {
        REQUIRE(values.next(value));
        CHECK(value == expected);
    }
    CHECK_FALSE(values.next(value));

    const HeapCopy cut(from_hex("0580"));
    wire::PackedVarints first(cut.view());
    REQUIRE(first.next(value));
    CHECK(code_of([&] { return first.next(value); }) == "wire.truncated");
    const HeapCopy over_long(varint(0, 11));
    wire::PackedVarints second(over_long.view());
    CHECK(code_of([&] { return second.next(value); }) == "wire.varint_too_long");
}

}  // namespace onnxmap::test
