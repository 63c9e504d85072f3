// The requests of the structure pass to its feed, and the index that it makes.
#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "feeds.hpp"
#include "sample_models.hpp"
#include "structure_of.hpp"

namespace onnxmap::test {

namespace {

// Notes the ranges that are announced as skipped now and needed later.
class KeepingFeed final : public ByteFeed {
  public:
    explicit KeepingFeed(ByteView bytes) : inner_(bytes) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return inner_.size(); }
    [[nodiscard]] ByteView at(std::uint64_t offset, std::uint64_t least) override {
        return inner_.at(offset, least);
    }
    void keep(std::uint64_t offset, std::uint64_t nbytes) override {
        kept.push_back({offset, nbytes});
    }

    std::vector<std::pair<std::uint64_t, std::uint64_t>> kept;

  private:
    LeastFeed inner_;
};

// Fails at its second request, like a file that is truncated meanwhile.
class ShrinkingFeed final : public ByteFeed {
  public:
    explicit ShrinkingFeed(ByteView bytes) : inner_(bytes) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return inner_.size(); }
    [[nodiscard]] ByteView at(std::uint64_t offset, std::uint64_t least) override {
        if (++looks > 1) throw Error("file.changed", "shorter now");
        return inner_.at(offset, least);
    }

    int looks = 0;

  private:
    LeastFeed inner_;
};

}  // namespace

TEST_CASE("structure feed: payload is never read") {
    constexpr std::size_t kPayload = 1 << 20;
    const Bytes content(kPayload, 0xff);  // these bytes are not valid fields
    const Bytes tensor = join(blob(9, content), blob(4, content), blob(10, content));
    const Bytes bytes = model(blob(5, tensor));
    LeastFeed feed(bytes);
    CHECK(verdict_of(feed) == Verdict{});
    CHECK(feed.served() < 1000);
}

TEST_CASE("structure feed: packed varints are read to the last byte") {
    const Bytes run = repeat(100'000, {0x01});
    const Bytes bytes = blob(7, blob(5, blob(7, run)));
    LeastFeed feed(bytes);
    CHECK(verdict_of(feed) == Verdict{});
    CHECK(feed.served() >= run.size());

    // A varint of eleven bytes is found at its offset, wherever the windows of the feed end.
    const std::uint64_t head = bytes.size() - run.size();
    for (const std::size_t at : {0UL, 1UL, 65'530UL, 65'536UL, 65'537UL, 99'980UL}) {
        Bytes bad = bytes;
        for (std::size_t i = 0; i < 10; ++i) bad[head + at + i] = 0x80;
        LeastFeed least(bad);
        CHECK(verdict_of(least) == Verdict{"wire.varint_too_long", head + at});
    }
    Bytes cut = bytes;
    for (std::size_t i = 1; i <= 9; ++i) {
        cut[cut.size() - i] = 0xff;
        LeastFeed least(cut);
        CHECK(verdict_of(least) == Verdict{"wire.truncated", cut.size() - i});
    }
}

TEST_CASE("structure feed: skipped bytes are announced unless they are payload") {
    const Bytes long_text(1000, 'd');
    const Bytes tensor = join(blob(9, Bytes(1000)), blob(12, long_text), blob(999, Bytes(900)));
    const Bytes bytes = model(join(blob(5, tensor), blob(10, long_text)));
    KeepingFeed feed(bytes);
    static_cast<void>(model_structure(feed));
    REQUIRE(feed.kept.size() == 3);  // text and unknown fields of the tensor, and text of the graph
    for (const auto& [offset, nbytes] : feed.kept) {
        REQUIRE(offset + nbytes <= bytes.size());
        CHECK(nbytes >= 880);
    }
}

TEST_CASE("structure feed: if a file changes during the pass, the error says so") {
    const Bytes bytes = varied_model();
    ShrinkingFeed feed(bytes);
    CHECK(code_of([&] { return model_structure(feed); }) == "file.changed");
    CHECK(feed.looks == 2);  // the failed request is not repeated
}

TEST_CASE("structure feed: the parts of the graph are listed, except empty ones") {
    const Bytes first = join(blob(2, "a"), blob(1, node("A")));
    const Bytes second = blob(1, node("B"));
    const Bytes bytes =
        join(blob(7, Bytes{}), scalar(1, 8), blob(7, first), blob(7, Bytes{}), blob(7, second));
    const auto structure = model_structure(bytes);
    REQUIRE(structure.child_parts.size() == 2);
    CHECK(structure.child_parts[0].offset == 6);
    CHECK(structure.child_parts[0].size == first.size());
    CHECK(structure.child_parts[1].offset == bytes.size() - second.size());
    CHECK(structure.child_parts[1].size == second.size());
    const auto& graph = onnx::message<"GraphProto">;
    CHECK(structure.child.at(graph.position[1]).count == 2);
    CHECK(structure.child.at(graph.position[2]).count == 1);
    CHECK(structure.fields.at(onnx::message<"ModelProto">.position[7]).count == 4);
}

TEST_CASE("structure feed: only fields of the root's graph are noted") {
    const Bytes subgraph = blob(1, node("Inner"));
    const Bytes graph = blob(1, node("If", {attribute("g", 5, blob(6, subgraph))}));
    const auto structure = model_structure(blob(7, graph));
    CHECK(structure.child.at(onnx::message<"GraphProto">.position[1]).count == 1);
}

TEST_CASE("structure feed: any message can be the root") {
    const Bytes tensor = raw_tensor("w", {1, 2, 3});
    MemoryFeed feed(tensor);
    const auto& table = onnx::message<"TensorProto">;
    const auto structure = wire::read_structure(feed, onnx::kSchema, table, {});
    CHECK(structure.fields.at(table.position[9]).count == 1);
    CHECK(structure.child_parts.empty());
    MemoryFeed empty(ByteView{});
    CHECK(wire::read_structure(empty, onnx::kSchema, table, {}).fields.at(0).count == 0);
}

}  // namespace onnxmap::test
