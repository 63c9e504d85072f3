#include "wire/packed_varints.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "placed_bytes.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

using Numbers = std::vector<std::uint64_t>;

TEST_CASE("packed_varints: values are counted right in runs of every length") {
    GuardedPages pages(6000);
    std::mt19937_64 random(4);
    // More than 255 words of eight bytes: a running sum in bytes would overflow there.
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

TEST_CASE("packed_varints: a run is cut only at the end of a varint") {
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

}  // namespace onnxmap::test
