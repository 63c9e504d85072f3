#include "tensor/typed_values.hpp"
#include "sanitized.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "onnx/schema.hpp"
#include "placed_bytes.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

using Numbers = std::vector<std::uint64_t>;
using onnx::field;

constexpr tensor::ValueRange kAny8 = {8, false, 0, 0};

onnx::Message tensor_of(ByteView bytes) { return {onnx::message<"TensorProto">, bytes}; }

const wire::FieldRow& row_of(std::uint32_t number) {
    return *onnx::message<"TensorProto">.find(number);
}

// Decodes block by block, each into a heap block of exactly its size. The blocks must follow
// each other without gaps.
std::pair<Bytes, bool> decode(const tensor::TypedValues& values, const tensor::ValueRange& range) {
    Bytes all;
    bool in_range = true;
    for (std::size_t i = 0; i < values.size(); ++i) {
        REQUIRE(values.first(i) * range.nbytes == all.size());
        HeapCopy room{ByteView(Bytes(values.count(i) * range.nbytes, 0xa5))};
        in_range = values.decode(i, range, room.data()) && in_range;
        append(all, room.view());
    }
    REQUIRE(all.size() == values.count() * range.nbytes);
    return {all, in_range};
}

// The expected values, eight bytes each. They are read one by one, without blocks.
Bytes slow_values(const onnx::Message& message, const wire::FieldRow& row) {
    Bytes all;
    message.for_each_value(row, [&](const wire::Field& value) {
        for (unsigned shift = 0; shift < 64; shift += 8) {
            all.push_back(static_cast<std::uint8_t>(value.value >> shift));
        }
    });
    return all;
}

bool same_as_slow(ByteView bytes, std::uint32_t number) {
    const onnx::Message message = tensor_of(bytes);
    const tensor::TypedValues values(message, row_of(number));
    const auto [found, in_range] = decode(values, kAny8);
    return in_range && found == slow_values(message, row_of(number));
}

// Values of all lengths. Most of `most` fit into one byte, so a run has many values.
Numbers random_numbers(std::mt19937_64& random, std::size_t count) {
    Numbers numbers(count);
    for (std::uint64_t& number : numbers) number = random() >> (random() % 64);
    return numbers;
}

// A field with that many values, in any form that its number allows.
Bytes any_field(std::mt19937_64& random, std::uint32_t number, std::size_t count) {
    const wire::WireType type = row_of(number).wire_type();
    const bool run = random() % 2 == 0;
    Bytes content;
    Bytes fields;
    for (const std::uint64_t value : random_numbers(random, count)) {
        const Bytes bytes = type == wire::WireType::varint    ? varint(value)
                            : type == wire::WireType::fixed32 ? little_endian(value, 4)
                                                              : little_endian(value, 8);
        append(content, bytes);
        append(fields, join(tag(number, type), bytes));
    }
    return run ? blob(number, content) : fields;
}

Bytes some_unknown_field(std::mt19937_64& random) {
    switch (random() % 5) {
        case 0: return scalar(999, random());
        case 1: return blob(8, "a name");
        case 2: return group(77, fixed64(3, 1));
        case 3: return blob(99, Bytes(random() % 200, 0x11));  // sometimes more than 64 bytes
        default: return {};
    }
}

constexpr std::uint32_t kNumbers[] = {4, 5, 7, 10, 11};  // the typed fields except string_data

}  // namespace

TEST_CASE("typed_values: packed, unpacked, in several runs, and with empty runs") {
    const Bytes expected = from_hex("0100000000000000 2c01000000000000 ffffffffffffffff");
    const Bytes forms[] = {
        packed(7, {1, 300, UINT64_MAX}),
        join(scalar(7, 1), scalar(7, 300), scalar(7, UINT64_MAX)),
        join(packed(7, {1}), scalar(999, 1), blob(7, Bytes{}), scalar(7, 300), blob(7, Bytes{}),
             packed(7, {UINT64_MAX})),
        join(packed(7, {}), scalar(7, 1), packed(7, {300, UINT64_MAX}), packed(7, {})),
    };
    for (const Bytes& form : forms) {
        const HeapCopy copy(form);
        const onnx::Message message = tensor_of(copy.view());
        const tensor::TypedValues values(message, field<"TensorProto.int64_data">);
        CHECK(values.count() == 3);
        CHECK(decode(values, kAny8) == std::pair(expected, true));
        // The other fields have no values.
        CHECK(tensor::TypedValues(message, field<"TensorProto.uint64_data">).count() == 0);
    }
    CHECK(tensor::TypedValues(tensor_of({}), field<"TensorProto.int64_data">).size() == 0);
}

TEST_CASE("typed_values: every field in any form, with any fields between") {
    std::mt19937_64 random(1);
    for (int round = 0; round < 150; ++round) {
        for (const std::uint32_t number : kNumbers) {
            Bytes bytes;
            for (std::size_t parts = random() % 12; parts > 0; --parts) {
                append(bytes, any_field(random, number, random() % 20));
                append(bytes, some_unknown_field(random));
            }
            CAPTURE(number);
            const HeapCopy copy(bytes);
            REQUIRE(same_as_slow(copy.view(), number));
        }
    }
}

TEST_CASE("typed_values: a block ends after 64 KiB, or at large fields of another kind") {
    std::mt19937_64 random(2);
    Bytes bytes;
    for (int i = 0; i < 60'000; ++i) append(bytes, scalar(5, random() % 400));
    const tensor::TypedValues many(tensor_of(bytes), field<"TensorProto.int32_data">);
    CHECK(many.size() >= bytes.size() / (80 << 10));
    CHECK(many.size() > 1);
    CHECK(same_as_slow(bytes, 5));

    const auto blocks = [](const Bytes& between) {
        const Bytes both = join(scalar(5, 1), between, scalar(5, 2));
        CHECK(same_as_slow(both, 5));
        return tensor::TypedValues(tensor_of(both), field<"TensorProto.int32_data">).size();
    };
    CHECK(blocks({}) == 1);
    CHECK(blocks(blob(8, "short")) == 1);
    CHECK(blocks(blob(9, Bytes(60'000, 0x28))) == 2);  // bytes that look like the field
    CHECK(blocks(join(packed(5, {3, 4}), scalar(999, 1))) == 1);
}

TEST_CASE("typed_values: runs of about 64 KiB and about 1 MiB") {
    std::mt19937_64 random(3);
    for (const std::size_t edge : {std::size_t{64} << 10, std::size_t{1} << 20}) {
        for (const std::size_t longest : {1U, 2U, 10U}) {
            // The oracle takes seconds for 1 MiB of short varints under a sanitizer.
            if (kSanitized && edge > 64 << 10 && longest != 10) continue;
            Bytes run;
            while (run.size() < edge - 12) {
                append(run, varint(longest == 1 ? random() % 128 : random() >> (random() % 64),
                                   longest == 10 ? random() % 11 : 0));
            }
            for (std::size_t more = 0; more < 4; ++more) {
                append(run, varint(random() >> (7 * more), longest));
                const HeapCopy copy(join(scalar(7, 5), blob(7, run), scalar(7, 6)));
                CAPTURE(run.size());
                REQUIRE(same_as_slow(copy.view(), 7));
            }
        }
    }
    const Bytes large = blob(7, Bytes((3 << 20) + 5, 0x7f));
    const tensor::TypedValues parts(tensor_of(large), field<"TensorProto.int64_data">);
    CHECK(parts.size() == 4);  // 1 MiB each, so that several threads have work
    CHECK(parts.count() == (3 << 20) + 5);
}

TEST_CASE("typed_values: a run is never cut inside a varint") {
    std::mt19937_64 random(4);
    for (const std::size_t length : {2UL, 3UL, 10UL}) {
        // The cut at 1 MiB meets each byte of a varint in turn.
        for (std::size_t shift = 0; shift < length; ++shift) {
            if (kSanitized && shift % 3 != 0) continue;
            const Bytes part = repeat(100, varint(random() >> (64 - 7 * length % 64), length));
            const Bytes run = join(Bytes(shift, 0x05), repeat((1 << 20) / part.size() + 2, part));
            REQUIRE(same_as_slow(blob(7, run), 7));
        }
    }
}

TEST_CASE("typed_values: runs of fixed width are cut between values") {
    const Bytes run = [] {
        std::mt19937_64 random(5);
        Bytes bytes((2 << 20) + 8);
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
        return bytes;
    }();
    for (const std::uint32_t number : {4U, 10U}) {
        const Bytes bytes = join(blob(number, run), blob(number, join(ByteView(run).first(8))));
        CHECK(same_as_slow(bytes, number));
        CHECK(tensor::TypedValues(tensor_of(bytes), row_of(number)).count() ==
              (run.size() + 8) / (number == 4 ? 4 : 8));
    }
}

TEST_CASE("typed_values: one message may be merged from several pieces") {
    const Bytes first = join(scalar(5, 1), packed(5, {2, 3}));
    const Bytes second = packed(5, {4});
    const onnx::Message merged(onnx::message<"TensorProto">, std::vector<ByteView>{first, second});
    const tensor::TypedValues values(merged, field<"TensorProto.int32_data">);
    CHECK(values.count() == 4);
    CHECK(decode(values, {1, false, 0, 0}).first == Bytes{1, 2, 3, 4});
}

TEST_CASE("typed_values: no byte behind the message is read") {
    GuardedPages pages(200 << 10);
    std::mt19937_64 random(6);
    for (std::size_t count = 0; count < 60; ++count) {
        for (const std::uint32_t number : kNumbers) {
            REQUIRE(same_as_slow(pages.place(any_field(random, number, count)), number));
        }
    }
    // Long enough for a block of its own.
    for (std::size_t more = 0; more < 20; ++more) {
        Bytes run(70'000, 0x01);
        for (std::size_t i = 0; i < more; ++i) append(run, varint(random(), 10));
        REQUIRE(same_as_slow(pages.place(blob(7, run)), 7));
    }
}

TEST_CASE("typed_values: elements have the low bytes of values that are in range") {
    const auto decoded = [](const Bytes& bytes, std::uint32_t number,
                            const tensor::ValueRange& range) {
        return decode(tensor::TypedValues(tensor_of(bytes), row_of(number)), range);
    };
    const auto negative = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    const tensor::ValueRange byte = {1, true, -128, 255};
    const Bytes good = packed(5, {0, 255, negative(-128), negative(-1), 127});
    CHECK(decoded(good, 5, byte) == std::pair(from_hex("00ff80ff7f"), true));
    for (const std::int64_t bad : {256LL, -129LL, 1LL << 30, -(1LL << 31)}) {
        const auto [bytes, in_range] = decoded(packed(5, {1, negative(bad), 2}), 5, byte);
        CHECK_FALSE(in_range);
        CHECK(bytes == Bytes{1, static_cast<std::uint8_t>(bad), 2});
    }
    // An int32 field has the low 32 bits of its varint. The other bits are ignored.
    CHECK(decoded(packed(5, {(1ULL << 32) + 7}), 5, byte) == std::pair(Bytes{7}, true));
    CHECK(decoded(packed(5, {0xffff'ffff}), 5, byte) == std::pair(Bytes{0xff}, true));
    const tensor::ValueRange half = {2, true, -32768, 65535};
    CHECK(decoded(scalar(5, negative(-32768)), 5, half) == std::pair(from_hex("0080"), true));
    CHECK_FALSE(decoded(scalar(5, 65536), 5, half).second);
    CHECK_FALSE(decoded(scalar(5, negative(-32769)), 5, half).second);
    const tensor::ValueRange uint32 = {4, true, 0, UINT32_MAX};
    CHECK(decoded(packed(11, {UINT32_MAX}), 11, uint32) == std::pair(from_hex("ffffffff"), true));
    CHECK_FALSE(decoded(packed(11, {1ULL << 32}), 11, uint32).second);
    CHECK_FALSE(decoded(packed(11, {UINT64_MAX}), 11, uint32).second);
}

TEST_CASE("typed_values: one value out of range is noticed at any place") {
    const tensor::ValueRange byte = {1, true, -128, 255};
    for (std::size_t place = 0; place < 50; ++place) {
        for (const bool run : {true, false}) {
            Bytes fields;
            Numbers numbers;
            for (std::size_t i = 0; i < 50; ++i) {
                numbers.push_back(i == place ? 300 : i);
                append(fields, scalar(5, numbers.back()));
            }
            const Bytes bytes = run ? packed(5, numbers) : fields;
            const tensor::TypedValues values(tensor_of(bytes), row_of(5));
            REQUIRE_FALSE(decode(values, byte).second);
        }
    }
}

TEST_CASE("typed_values: malformed runs are found even if a lazy load has not judged them") {
    const auto code = [](const Bytes& run) {
        const HeapCopy copy(blob(7, run));
        return code_of([&] {
            const tensor::TypedValues values(tensor_of(copy.view()), row_of(7));
            Bytes out(values.count() * 8);
            for (std::size_t i = 0; i < values.size(); ++i) {
                static_cast<void>(values.decode(i, kAny8, out.data() + values.first(i) * 8));
            }
            return 0;
        });
    };
    const Bytes short_run(20, 0x01);
    const Bytes long_run(70'000, 0x01);
    const Bytes huge_run((1 << 20) + 3, 0x01);
    for (const Bytes& good : {short_run, long_run, huge_run}) {
        CAPTURE(good.size());
        CHECK(code(good) == "accepted");
        CHECK(code(join(good, varint(0, 11))) == "wire.varint_too_long");
        CHECK(code(join(varint(0, 11), good)) == "wire.varint_too_long");
        CHECK(code(join(good, varint(0, 30), good)) == "wire.varint_too_long");
        CHECK(code(join(good, Bytes{0x80})) == "wire.truncated");
        CHECK(code(join(good, Bytes(9, 0x80))) == "wire.truncated");
    }
    CHECK(code(Bytes{0x80}) == "wire.truncated");
    CHECK(code(Bytes(70'000, 0x80)) == "wire.varint_too_long");
}

TEST_CASE("typed_values: bytes that change after they were counted are an error") {
    for (const std::size_t size : {50UL, 70'000UL}) {
        HeapCopy copy(blob(7, Bytes(size, 0x01)));
        const tensor::TypedValues values(tensor_of(copy.view()), row_of(7));
        REQUIRE(values.count() == size);
        const auto code = [&] {
            return code_of([&] {
                HeapCopy room{ByteView(Bytes(size * 8))};
                for (std::size_t i = 0; i < values.size(); ++i) {
                    static_cast<void>(values.decode(i, kAny8, room.data() + values.first(i) * 8));
                }
                return 0;
            });
        };
        CHECK(code() == "accepted");
        copy.data()[copy.view().size() - 5] = 0x81;  // two values become one
        CHECK(code() == "file.changed");
    }
    // There are more values than before. None may be written behind the room.
    HeapCopy copy(blob(7, repeat(50, from_hex("8101"))));
    const tensor::TypedValues values(tensor_of(copy.view()), row_of(7));
    REQUIRE(values.count() == 50);
    copy.data()[10] = 0x01;
    GuardedPages room(50 * 8);
    CHECK(code_of([&] { return values.decode(0, kAny8, room.last(50 * 8)); }) == "file.changed");
}

TEST_CASE("typed_values: a single run of fixed width can be viewed") {
    const Bytes run = from_hex("0102030405060708");
    const auto single = [](const Bytes& bytes, std::uint32_t number) {
        const auto found = tensor::single_run(tensor_of(bytes), row_of(number));
        return found ? join(*found) : Bytes{0xee};
    };
    CHECK(single(blob(4, run), 4) == run);
    CHECK(single(blob(10, run), 10) == run);
    CHECK(single(join(scalar(1, 2), blob(4, Bytes{}), blob(4, run), blob(8, "n")), 4) == run);
    CHECK(single(join(blob(4, run), blob(4, run)), 4) == Bytes{0xee});
    CHECK(single(join(blob(4, run), fixed32(4, 1)), 4) == Bytes{0xee});
    CHECK(single(fixed32(4, 1), 4) == Bytes{0xee});
    CHECK(single(blob(4, Bytes{}), 4) == Bytes{0xee});
    CHECK(single(blob(7, run), 7) == Bytes{0xee});  // varints
    CHECK(single(blob(10, run), 4) == Bytes{0xee});
}

}  // namespace onnxmap::test
