// Compares the unknown fields of a message with a plain list of their places.
#include "model/unknown_fields.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "caught.hpp"
#include "placed_bytes.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

namespace {

using onnx::message;

// A graph in several pieces of one buffer, and the places of its unknown fields.
struct UnknownLayout {
    Bytes bytes;
    std::vector<std::pair<std::size_t, std::size_t>> pieces;  // begin and size
    std::vector<std::size_t> unknown;
};

void add_maybe_unknown(UnknownLayout& layout, std::mt19937_64& random) {
    const std::uint64_t length = random() % 20 == 0 ? 2000 : 10;
    switch (random() % 6) {
        case 0: append(layout.bytes, blob(1, Bytes(random() % length, 0))); return;
        case 1: append(layout.bytes, blob(2, "a name")); return;
        default: break;
    }
    layout.unknown.push_back(layout.bytes.size());
    switch (random() % 5) {
        case 0: append(layout.bytes, scalar(999, random())); return;
        case 1: append(layout.bytes, scalar(1, 5)); return;  // node's number, another wire type
        case 2: append(layout.bytes, group(7, scalar(1, 1))); return;
        case 3: append(layout.bytes, blob(3, Bytes(random() % length, 'v'))); return;
        default: append(layout.bytes, blob(99, Bytes(random() % length, 'x'))); return;
    }
}

UnknownLayout random_unknown_layout(std::mt19937_64& random) {
    UnknownLayout layout;
    for (std::uint64_t piece = 1 + random() % 30; piece > 0; --piece) {
        append(layout.bytes, Bytes(2 + random() % 20, 0xee));  // bytes that are not the graph's
        const std::size_t begin = layout.bytes.size();
        for (std::uint64_t i = 1 + random() % 20; i > 0; --i) add_maybe_unknown(layout, random);
        layout.pieces.emplace_back(begin, layout.bytes.size() - begin);
    }
    return layout;
}

onnx::Message graph_of(const UnknownLayout& layout, ByteView bytes) {
    std::vector<ByteView> pieces;
    for (const auto& [begin, size] : layout.pieces) pieces.push_back(bytes.subspan(begin, size));
    return {message<"GraphProto">, std::move(pieces)};
}

}  // namespace

TEST_CASE("unknown_fields: listed with number and in order, in any pieces of a message") {
    std::mt19937_64 random(5);
    for (int round = 0; round < 100; ++round) {
        const UnknownLayout layout = random_unknown_layout(random);
        const HeapCopy copy(layout.bytes);
        const model::UnknownFields fields(graph_of(layout, copy.view()));
        REQUIRE(fields.count() == layout.unknown.size());
        model::UnknownFields::Cursor cursor(fields);
        wire::Field next;
        for (std::size_t i = 0; i < layout.unknown.size(); ++i) {
            REQUIRE(fields.at(i).begin == copy.view().data() + layout.unknown[i]);
            REQUIRE(cursor.next(next));
            REQUIRE(next.begin == copy.view().data() + layout.unknown[i]);
        }
        CHECK_FALSE(cursor.next(next));
    }
}

TEST_CASE("unknown_fields: all fields of a group are unknown") {
    const Bytes bytes = join(scalar(1, 5), blob(2, "a name"), group(7, scalar(1, 1)));
    const model::UnknownFields fields{ByteView(bytes)};
    REQUIRE(fields.count() == 3);
    CHECK(fields.at(1).text() == "a name");
    CHECK(model::UnknownFields(ByteView{}).count() == 0);
}

TEST_CASE("unknown_fields: bytes that changed give an error, and reads stay inside") {
    std::mt19937_64 random(6);
    const UnknownLayout layout = random_unknown_layout(random);
    for (int round = 0; round < 200; ++round) {
        HeapCopy copy(layout.bytes);
        const model::UnknownFields fields(graph_of(layout, copy.view()));
        for (int i = 0; i < 10; ++i) {
            copy.data()[random() % layout.bytes.size()] = static_cast<std::uint8_t>(random());
        }
        const std::string code = code_of([&] {
            for (std::uint64_t i = 0; i < fields.count(); ++i) {
                const wire::Field found = fields.at(i);
                REQUIRE(found.begin >= copy.view().data());
                REQUIRE(found.end <= copy.view().data() + copy.view().size());
            }
            return 0;
        });
        const bool expected =
            code == "accepted" || code == "file.changed" || code.starts_with("wire.");
        CHECK_MESSAGE(expected, code);
    }
}

}  // namespace onnxmap::test
