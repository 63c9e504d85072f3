#include "tensor/histogram.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "bulk_model.hpp"
#include "caught.hpp"
#include "loaded_model.hpp"
#include "model/graph.hpp"
#include "model/tensor.hpp"
#include "os/parallel.hpp"
#include "type_codes.hpp"

namespace onnxmap::test {

namespace {

using tensor::Histogram;

constexpr std::uint64_t kHistogramBytes = 3'000'000;

BulkModel bytes_in_blocks() {
    return BulkModel({typed_tensor(kUint8, kHistogramBytes, counting(kHistogramBytes))},
                     {2, 1 << 20, 64});
}

// How many of the bytes are least .. most.
std::uint64_t count_of_bytes(std::uint8_t least, std::uint8_t most) {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(counting(kHistogramBytes),
                              [&](std::uint8_t byte) { return byte >= least && byte <= most; }));
}

tensor::Values values_for_bins(const BulkModel& made) {
    const auto initializers = main_graph(made.document).initializers();
    return model::Tensor(*made.document, initializers.at(made.positions[0])).values();
}

}  // namespace

TEST_CASE("histogram: a tensor is read in blocks, by any number of threads") {
    const BulkModel made = bytes_in_blocks();
    tensor::Values values = values_for_bins(made);
    const std::vector<double> edges = {0, 128, 200.5, 255};
    const std::vector<std::uint64_t> expected = {count_of_bytes(0, 127), count_of_bytes(128, 200),
                                                 count_of_bytes(201, 255)};
    for (const unsigned threads : {1U, 3U}) {
        const os::WithThreadBudget budget({threads, nullptr});
        const std::size_t before = made.source->reads().size();
        const Histogram histogram(values);
        const auto extremes = histogram.extremes();
        REQUIRE(extremes);
        CHECK(extremes->least == 0);
        CHECK(extremes->most == 255);
        CHECK(histogram.count(edges) == expected);
        CHECK(made.source->reads().size() == before + 6);
    }
}

TEST_CASE("histogram: values outside the edges are in no bin") {
    const BulkModel made = bytes_in_blocks();
    tensor::Values values = values_for_bins(made);
    const Histogram histogram(values);
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK(histogram.count(std::vector<double>{300, 400}) == std::vector<std::uint64_t>{0});
    CHECK(histogram.count(std::vector<double>{-infinity, 1, 1, infinity}) ==
          std::vector<std::uint64_t>{count_of_bytes(0, 0), 0, count_of_bytes(1, 255)});
}

TEST_CASE("histogram: a sample reads runs that are spread evenly") {
    const BulkModel made = bytes_in_blocks();
    tensor::Values values = values_for_bins(made);
    const Histogram histogram(values, 50'000);
    const std::size_t before = made.source->reads().size();
    CHECK(histogram.count(std::vector<double>{0, 255}) == std::vector<std::uint64_t>{3 * 16'384});
    const auto reads = made.source->reads();
    REQUIRE(reads.size() == before + 3);
    CHECK(reads.back().first > reads[before].first + kHistogramBytes / 2);
}

TEST_CASE("histogram: a stopped call ends early") {
    const BulkModel made = bytes_in_blocks();
    tensor::Values values = values_for_bins(made);
    const Histogram histogram(values);
    const std::atomic<bool> stopped = true;
    const os::WithThreadBudget budget({2, &stopped});
    CHECK_THROWS_AS(std::ignore = histogram.extremes(), os::Stopped);
}

TEST_CASE("histogram: a failed read is an error") {
    const BulkModel made = bytes_in_blocks();
    tensor::Values values = values_for_bins(made);
    const Histogram histogram(values);
    made.source->on_read = [](std::uint64_t offset) {
        if (offset > 2'000'000) fail_changed();
    };
    CHECK(code_of([&] { return histogram.count(std::vector<double>{0, 1}); }) == "file.changed");
}

}  // namespace onnxmap::test
