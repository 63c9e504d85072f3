#include "wire/occurrences.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "onnx/schema.hpp"

namespace onnxmap::test {

namespace {

const wire::MessageTable& graph_table() { return onnx::message<"GraphProto">; }

// Checkpoints must be occurrences, and the occurrences after a checkpoint must be near it.
void check_against(const wire::FieldOccurrences& entry, const std::vector<std::uint64_t>& offsets) {
    REQUIRE(entry.count == offsets.size());
    if (offsets.empty()) {
        CHECK(entry.checkpoints.empty());
        return;
    }
    REQUIRE(entry.checkpoints.front().ordinal == 0);
    for (std::size_t k = 0; k < entry.checkpoints.size(); ++k) {
        const auto& checkpoint = entry.checkpoints[k];
        const std::uint64_t next =
            k + 1 < entry.checkpoints.size() ? entry.checkpoints[k + 1].ordinal : offsets.size();
        REQUIRE(checkpoint.offset == offsets[checkpoint.ordinal]);
        REQUIRE(next > checkpoint.ordinal);
        CHECK(next - checkpoint.ordinal <= 16);
        CHECK(offsets[next - 1] - checkpoint.offset < 1024);
        for (std::uint64_t i = checkpoint.ordinal; i < next; ++i) {
            CHECK(entry.before(i).ordinal == checkpoint.ordinal);
        }
    }
}

}  // namespace

TEST_CASE("occurrences: none are noted") {
    const wire::Occurrences occurrences(graph_table().fields.size());
    for (std::size_t i = 0; i < graph_table().fields.size(); ++i) {
        CHECK(occurrences.at(i).count == 0);
        CHECK(occurrences.at(i).checkpoints.empty());
    }
}

TEST_CASE("occurrences: every sixteenth of many small fields has a checkpoint") {
    wire::Occurrences occurrences(graph_table().fields.size());
    for (std::uint64_t i = 0; i < 100; ++i) occurrences[0].note(2 * i);
    const auto& entry = occurrences.at(0);
    REQUIRE(entry.checkpoints.size() == 7);
    for (std::size_t k = 0; k < 7; ++k) CHECK(entry.checkpoints[k].ordinal == 16 * k);
}

TEST_CASE("occurrences: each of a few large fields has a checkpoint") {
    wire::Occurrences occurrences(graph_table().fields.size());
    for (std::uint64_t i = 0; i < 10; ++i) occurrences[0].note(1024 * i);
    CHECK(occurrences.at(0).checkpoints.size() == 10);
}

TEST_CASE("occurrences: several fields at random offsets") {
    std::mt19937_64 random(2);
    for (int round = 0; round < 300; ++round) {
        wire::Occurrences occurrences(graph_table().fields.size());
        std::vector<std::vector<std::uint64_t>> offsets(graph_table().fields.size());
        std::uint64_t offset = random() % 10;
        for (std::uint64_t i = 0, count = random() % 400; i < count; ++i) {
            const std::size_t position = random() % 4;
            occurrences[position].note(offset);
            offsets[position].push_back(offset);
            offset += random() % 20 == 0 ? 2 + random() % 3000 : 2 + random() % 40;
        }
        for (std::size_t position = 0; position < offsets.size(); ++position) {
            check_against(occurrences.at(position), offsets[position]);
        }
    }
}

}  // namespace onnxmap::test
