#include "wire/varint.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "placed_bytes.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

wire::Varint read(const Bytes& bytes) {
    const HeapCopy copy(bytes);
    return wire::read_varint(copy.view().data(), copy.view().data() + copy.view().size());
}

}  // namespace

TEST_CASE("varint: the first and last number of every width are read as written") {
    for (unsigned bits = 0; bits < 64; ++bits) {
        const std::uint64_t edge = std::uint64_t{1} << bits;
        for (const std::uint64_t value : {edge - 1, edge, edge + 1}) {
            const Bytes bytes = varint(value);
            const wire::Varint result = read(bytes);
            CHECK(result.value == value);
            CHECK(result.nbytes == static_cast<int>(bytes.size()));
        }
    }
    CHECK(read(varint(UINT64_MAX)).value == UINT64_MAX);
}

TEST_CASE("varint: over-long forms of up to ten bytes have the same value") {
    for (std::size_t width = 1; width <= 10; ++width) {
        const wire::Varint result = read(varint(8, width));
        CHECK(result.value == 8);
        CHECK(result.nbytes == static_cast<int>(width));
    }
}

TEST_CASE("varint: bits above the 63rd are dropped, as upb drops them") {
    CHECK(read(from_hex("80808080808080808001")).value == std::uint64_t{1} << 63);
    CHECK(read(from_hex("80808080808080808002")).value == 0);
    CHECK(read(from_hex("ffffffffffffffffff7f")).value == UINT64_MAX);
}

TEST_CASE("varint: the end of the bytes and an eleventh byte are different errors") {
    for (std::size_t length = 0; length < 10; ++length) {
        CHECK(read(repeat(length, {0x80})).nbytes == 0);
    }
    CHECK(read(repeat(10, {0x80})).nbytes == -1);
    CHECK(read(repeat(11, {0x80})).nbytes == -1);
    CHECK(read(varint(8, 11)).nbytes == -1);
}

TEST_CASE("varint: bytes behind the end are not read") {
    const Bytes bytes = from_hex("8001");
    CHECK(wire::read_varint(bytes.data(), bytes.data() + 1).nbytes == 0);
    CHECK(wire::read_varint(bytes.data(), bytes.data()).nbytes == 0);
    GuardedPages pages(10);
    const ByteView cut = pages.place(repeat(9, {0xff}));
    CHECK(wire::read_varint(cut.data(), cut.data() + cut.size()).nbytes == 0);
}

}  // namespace onnxmap::test
