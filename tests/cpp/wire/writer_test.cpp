// Compares what the core writes with the wire format written out by hand.
#include "wire/writer.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

template <class Write>
Bytes written(Write&& write) {
    std::string out = "before";
    write(out);
    CHECK(out.starts_with("before"));
    return from_text(std::string_view(out).substr(6));
}

}  // namespace

TEST_CASE("writer: varints have the shortest form") {
    for (unsigned bits = 0; bits < 64; ++bits) {
        const std::uint64_t edge = std::uint64_t{1} << bits;
        for (const std::uint64_t value : {edge - 1, edge, edge + 1, ~edge}) {
            CHECK(written([&](auto& out) { wire::write_varint(out, value); }) == varint(value));
            CHECK(wire::varint_nbytes(value) == varint(value).size());
        }
    }
    CHECK(wire::varint_nbytes(UINT64_MAX) == 10);
}

TEST_CASE("writer: fixed numbers are little-endian") {
    CHECK(written([](auto& out) { wire::write_fixed<std::uint32_t>(out, 0x0403'0201); }) ==
          from_hex("01020304"));
    CHECK(written([](auto& out) {
              wire::write_fixed<std::uint64_t>(out, 0x0807'0605'0403'0201);
          }) == from_hex("0102030405060708"));
}

TEST_CASE("writer: tags and heads are those of the wire format") {
    for (const std::uint32_t number : {1U, 15U, 16U, 31U, 2047U, 2048U, (1U << 29) - 1}) {
        CHECK(written([&](auto& out) { wire::write_tag(out, number, WireType::fixed32); }) ==
              tag(number, WireType::fixed32));
        for (const std::uint64_t nbytes : {0ULL, 127ULL, 128ULL, 1ULL << 31, 1ULL << 40}) {
            const Bytes head = written([&](auto& out) { wire::write_head(out, number, nbytes); });
            CHECK(head == join(tag(number, WireType::length_delimited), varint(nbytes)));
            CHECK(wire::head_nbytes(number, nbytes) == head.size());
        }
    }
}

}  // namespace onnxmap::test
