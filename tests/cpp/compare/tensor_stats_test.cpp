#include "compare/tensor_stats.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "bulk_model.hpp"
#include "caught.hpp"
#include "compare/stats_plan.hpp"
#include "loaded_model.hpp"
#include "model/graph.hpp"
#include "os/parallel.hpp"

namespace onnxmap::test {

namespace {

using compare::StatsPlan;
using compare::TensorStats;

constexpr std::uint64_t kUint8 = 2;
constexpr std::uint64_t kString = 8;

StatsPlan stats_plan(const BulkModel& made) {
    return {main_graph(made.document).initializers(), made.positions};
}

std::vector<TensorStats> stats(const StatsPlan& plan, unsigned threads) {
    const os::WithThreadBudget budget({threads, nullptr});
    std::atomic<std::uint64_t> done = 0;
    auto found = compare::read_stats(plan, done);
    CHECK(done == plan.nbytes());
    return found;
}

}  // namespace

TEST_CASE("tensor_stats: strings are left out, and the others keep their order") {
    const Bytes text = join(scalar(1, 1), scalar(2, kString), blob(8, "s"), blob(6, "text"));
    const BulkModel made({text, typed_tensor(kUint8, 2, {0, 5}), text, typed_tensor(kUint8, 1, {9}),
                          typed_tensor(kUint8, 0, {})});
    const StatsPlan plan = stats_plan(made);
    CHECK(plan.nbytes() == 3);
    const auto found = stats(plan, 1);
    REQUIRE(found.size() == 3);
    CHECK(found[0].values.zeros == 1);
    CHECK(found[0].values.most == 5);
    CHECK(found[0].values.deviation() == 2.5);
    CHECK(found[1].values.least == 9);
    CHECK(found[2].values.count == 0);
    CHECK(found[0].dims == std::vector<std::int64_t>{2});
}

TEST_CASE("tensor_stats: neighbours are read together, and a large tensor in blocks") {
    std::vector<Bytes> tensors(20, typed_tensor(kUint8, 100, counting(100)));
    tensors.push_back(typed_tensor(kUint8, 3'000'000, counting(3'000'000)));
    const BulkModel made(tensors, {2, 1 << 20, 64});
    const StatsPlan plan = stats_plan(made);
    const auto one = stats(plan, 1);
    const std::size_t reads = made.source->reads().size();
    CHECK(reads == 1 + 3);
    const auto several = stats(plan, 3);
    REQUIRE(one.size() == several.size());
    for (std::size_t i = 0; i < one.size(); ++i) {
        CHECK(one[i].values.mean == several[i].values.mean);
        CHECK(one[i].values.squares == several[i].values.squares);
        CHECK(one[i].values.count == several[i].values.count);
    }
    CHECK(one.back().values.count == 3'000'000);
    CHECK(one.front().values.count == 100);
}

TEST_CASE("tensor_stats: a stopped call ends early") {
    const BulkModel made(
        std::vector<Bytes>(3, typed_tensor(kUint8, 3'000'000, counting(3'000'000))));
    const StatsPlan plan = stats_plan(made);
    const std::atomic<bool> stopped = true;
    const os::WithThreadBudget budget({2, &stopped});
    std::atomic<std::uint64_t> done = 0;
    CHECK_THROWS_AS(std::ignore = compare::read_stats(plan, done), os::Stopped);
    CHECK(done == 0);
}

TEST_CASE("tensor_stats: a failed read is an error") {
    const BulkModel made({typed_tensor(kUint8, 3'000'000, counting(3'000'000))});
    const StatsPlan plan = stats_plan(made);
    made.source->on_read = [](std::uint64_t offset) {
        if (offset > 2'000'000) fail_changed();
    };
    std::atomic<std::uint64_t> done = 0;
    CHECK(code_of([&] { return compare::read_stats(plan, done); }) == "file.changed");
}

}  // namespace onnxmap::test
