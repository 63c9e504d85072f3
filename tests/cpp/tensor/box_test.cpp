#include "tensor/box.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace onnxmap::test {

namespace {

using tensor::BoxReads;
using tensor::IndexRange;

// An array whose elements are their own positions, and the reads that were made of it.
struct CountedReads {
    explicit CountedReads(std::vector<std::int64_t> dims_) : dims(std::move(dims_)) {
        for (const std::int64_t dim : dims) count *= static_cast<std::uint64_t>(dim);
    }

    std::vector<std::uint32_t> read(const std::vector<IndexRange>& box,
                                    const BoxReads& sizes = {}) {
        std::uint64_t wanted = 1;
        for (const IndexRange& range : box) wanted *= range.count;
        std::vector<std::uint32_t> found(wanted);
        reads.clear();
        tensor::read_box(
            dims, sizeof(std::uint32_t), box,
            [&](std::uint64_t begin, std::uint64_t read_count, std::uint8_t* to) {
                REQUIRE(begin + read_count <= count);
                reads.push_back(read_count);
                std::vector<std::uint32_t> part(read_count);
                std::iota(part.begin(), part.end(), static_cast<std::uint32_t>(begin));
                std::memcpy(to, part.data(), read_count * sizeof(std::uint32_t));
            },
            reinterpret_cast<std::uint8_t*>(found.data()), sizes);
        return found;
    }

    // The elements of the box, one after another.
    [[nodiscard]] std::vector<std::uint32_t> expected(const std::vector<IndexRange>& box) const {
        std::vector<std::uint64_t> positions{0};
        for (std::size_t axis = 0; axis < box.size(); ++axis) {
            std::vector<std::uint64_t> inner;
            for (const std::uint64_t outer : positions) {
                for (std::uint64_t i = 0; i < box[axis].count; ++i) {
                    inner.push_back(outer * static_cast<std::uint64_t>(dims[axis]) +
                                    box[axis].begin + i);
                }
            }
            positions = std::move(inner);
        }
        return {positions.begin(), positions.end()};
    }

    std::vector<std::int64_t> dims;
    std::uint64_t count = 1;
    std::vector<std::uint64_t> reads;
};

TEST_CASE("a box of any shape has the elements of its indices, whatever the reads are") {
    std::mt19937 random(0);
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::int64_t> dims(random() % 5);
        std::vector<IndexRange> box;
        for (std::int64_t& dim : dims) {
            dim = static_cast<std::int64_t>(random() % 6);
            const std::uint64_t begin = random() % (static_cast<std::uint64_t>(dim) + 1);
            box.push_back({begin, random() % (static_cast<std::uint64_t>(dim) - begin + 1)});
        }
        CountedReads numbers(dims);
        const BoxReads sizes{random() % 20, 1 + random() % 50};
        CHECK(numbers.read(box, sizes) == numbers.expected(box));
        CHECK(numbers.read(box) == numbers.expected(box));
    }
}

TEST_CASE("a column whose gaps are large is read element by element") {
    CountedReads numbers({400, 50'000});
    CHECK(numbers.read({{0, 400}, {5, 1}}).back() == 399 * 50'000 + 5);
    CHECK(numbers.reads == std::vector<std::uint64_t>(400, 1));
}

TEST_CASE("whole rows are one read, and no part is none") {
    CountedReads numbers({400, 50'000});
    CHECK(numbers.read({{100, 2}, {0, 50'000}}).front() == 100 * 50'000);
    CHECK(numbers.reads == std::vector<std::uint64_t>{100'000});
    CHECK(numbers.read({{5, 0}, {0, 50'000}}).empty());
    CHECK(numbers.reads.empty());
}

TEST_CASE("small gaps are read through, a bounded part at a time") {
    CountedReads numbers({20, 30, 50});
    const std::vector<IndexRange> box = {{0, 20}, {15, 15}, {25, 25}};
    const auto count_of_reads = [&](const BoxReads& sizes) {
        CHECK(numbers.read(box, sizes) == numbers.expected(box));
        return numbers.reads.size();
    };
    CHECK(count_of_reads({}) == 1);
    CHECK(count_of_reads({0, 1 << 20}) == 300);
    CHECK(count_of_reads({30, 1 << 20}) == 20);
    CHECK(count_of_reads({2000, 4000}) == 7);  // three of the outer rows at a time
}

}  // namespace

}  // namespace onnxmap::test
