// Reads take 64 bytes, conversions 8 elements, and gaps are 4 bytes. With the constants for local
// files, the same cases would need megabytes.
#include "bulk/read_items.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bulk_model.hpp"
#include "caught.hpp"
#include "os/parallel.hpp"

namespace onnxmap::test {

namespace {

using bulk::Item;
using onnx::DataType;

std::vector<Bytes> read(const BulkModel& made, const bulk::Options& options = {}) {
    const auto plan = made.plan(options);
    std::atomic<std::uint64_t> done = 0;
    const auto memory = bulk::read_items(*plan, plan->items(), done);
    CHECK(done == plan->nbytes());
    std::vector<Bytes> found(memory.size());
    for (std::size_t i = 0; i < memory.size(); ++i) {
        found[plan->items()[i].requested_at] = join(ByteView(memory[i].bytes));
    }
    return found;
}

// Each element, unpacked or converted on its own.
Bytes one_by_one(std::uint64_t bits, const Bytes& raw, std::uint64_t count) {
    Bytes bytes;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t at = i * bits;
        bytes.push_back(static_cast<std::uint8_t>(raw[at / 8] >> (at % 8) & ((1U << bits) - 1)));
    }
    return bytes;
}

}  // namespace

TEST_CASE("read_items: pieces of any number of elements make up the array") {
    for (std::size_t count = 0; count < 300; count += count < 20 ? 1 : 13) {
        CAPTURE(count);
        const BulkModel made({raw_tensor("t", counting(count))});
        REQUIRE(read(made)[0] == counting(count));
        const auto reads = made.source->reads();
        CHECK(reads.size() == (count + 63) / 64);
        CHECK(std::ranges::all_of(reads, [](const auto& one) { return one.second <= 64; }));
    }
}

TEST_CASE("read_items: packed elements at the ends of pieces") {
    for (const auto& [type, bits] : {std::pair{25, 2}, {21, 4}}) {
        for (const std::uint64_t count : {1ULL, 7ULL, 8ULL, 9ULL, 63ULL, 64ULL, 65ULL, 199ULL}) {
            CAPTURE(bits);
            CAPTURE(count);
            const auto width = static_cast<std::uint64_t>(bits);
            const Bytes raw = counting((count * width + 7) / 8, 3);
            const BulkModel made({typed_tensor(static_cast<std::uint64_t>(type), count, raw)});
            REQUIRE(read(made)[0] == one_by_one(width, raw, count));
        }
    }
}

TEST_CASE("read_items: a piece is converted in several buffers") {
    const std::size_t count = 333;
    const BulkModel made({typed_tensor(16, count, counting(2 * count))});
    const Bytes found = read(made, {&onnx::data_type(DataType::FLOAT), true, false})[0];
    Bytes expected;  // bfloat16 is the upper half of a float32
    for (std::size_t i = 0; i < count; ++i) {
        append(expected, Bytes{0, 0});
        const Bytes all = counting(2 * count);
        append(expected, Bytes{all[2 * i], all[2 * i + 1]});
    }
    CHECK(found == expected);
}

TEST_CASE("read_items: small neighbours are one read, tensors behind a gap are not") {
    // A TensorProto has a head before its values. The length of the name in it makes gaps of any
    // size. An eighth of a read of 800 bytes is 100 bytes.
    const auto apart = [](std::size_t gap) {
        const Bytes first = raw_tensor("a", counting(10));
        const std::size_t head = raw_tensor("", counting(10, 5)).size() + 2 - 10;
        return std::vector<Bytes>{first, raw_tensor(std::string(gap - head, 'b'), counting(10, 5))};
    };
    for (const std::uint64_t most : {20ULL, 19ULL}) {
        const BulkModel made(apart(20), {1, 800, most});
        CHECK(read(made) == std::vector<Bytes>{counting(10), counting(10, 5)});
        CHECK(made.source->reads().size() == (most == 20 ? 1 : 2));
    }
    // Tensors that are read together may be as long as a buffer.
    for (const std::uint64_t eighth : {40ULL, 39ULL}) {
        const BulkModel made(apart(20), {1, 8 * eighth, 100});
        CHECK(read(made) == std::vector<Bytes>{counting(10), counting(10, 5)});
        CHECK(made.source->reads().size() == (eighth == 40 ? 1 : 2));
    }
}

TEST_CASE("read_items: all kinds side by side") {
    const Bytes typed = join(scalar(1, 3), scalar(2, 7), blob(8, "t"), packed(7, {1, 2, 3}));
    const Bytes text = join(scalar(1, 1), scalar(2, 8), blob(8, "t"), blob(6, "s"));
    const BulkModel made({raw_tensor("a", counting(5)), typed, raw_tensor("b", counting(200)),
                          typed_tensor(27, 4, {1, 2, 3}), raw_tensor("c", {}), text,
                          typed_tensor(21, 3, {0x21, 0x03})},
                         {3, 64, 400});
    const auto found = read(made);
    CHECK(found[0] == counting(5));
    CHECK(found[1] == join(little_endian(1, 8), little_endian(2, 8), little_endian(3, 8)));
    CHECK(found[2] == counting(200));
    CHECK(found[3] == Bytes{1, 8, 48, 0});
    CHECK(found[4].empty());
    CHECK(found[5].empty());
    CHECK(found[6] == Bytes{1, 2, 3});
}

TEST_CASE("read_items: the budget limits the threads, and a stop ends the reading") {
    const BulkModel made({raw_tensor("t", counting(1000))});
    const auto plan = made.plan();
    std::atomic<std::uint64_t> done = 0;
    {
        const os::WithThreadBudget alone({1, nullptr});
        const auto here = std::this_thread::get_id();
        bool all_here = true;
        made.source->on_read = [&](std::uint64_t) {
            all_here = all_here && std::this_thread::get_id() == here;
        };
        static_cast<void>(bulk::read_items(*plan, plan->items(), done));
        CHECK(all_here);
    }
    std::atomic<bool> stopped = false;
    std::atomic<int> reads = 0;
    made.source->on_read = [&](std::uint64_t) {
        if (++reads == 3) stopped = true;
    };
    const os::WithThreadBudget budget({1, &stopped});
    CHECK_THROWS_AS(static_cast<void>(bulk::read_items(*plan, plan->items(), done)), os::Stopped);
    CHECK(reads == 3);
}

TEST_CASE("read_items: an error of a read is thrown to the caller") {
    const BulkModel made({raw_tensor("t", counting(1000))});
    const auto plan = made.plan();
    made.source->on_read = [](std::uint64_t offset) {
        if (offset > 500) throw FileError(5, "the file");
    };
    std::atomic<std::uint64_t> done = 0;
    CHECK(errno_of([&] { return bulk::read_items(*plan, plan->items(), done); }) == 5);
    // Decoded values are checked before anything is read piece by piece.
    const Bytes typed = join(scalar(1, 3), scalar(2, 2), blob(8, "t"), packed(5, {1, 2, 300}));
    const BulkModel bad({raw_tensor("a", counting(100)), typed});
    const auto error = error_of([&] { return read(bad); });
    REQUIRE(error);
    CHECK(error->code == "tensor.value_range");
    CHECK(bad.source->reads().empty());
}

}  // namespace onnxmap::test
