// Compares the index with a plain list of the places of the fields.
#include "model/field_index.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "placed_bytes.hpp"
#include "sample_models.hpp"
#include "structure_of.hpp"

namespace onnxmap::test {

namespace {

using onnx::field;
using onnx::message;

// A graph in several pieces of one buffer, and the offset of each of its fields.
struct Layout {
    Bytes bytes;
    std::vector<wire::Span> pieces;
    std::map<const wire::FieldRow*, std::vector<std::uint64_t>> offsets;
};

Bytes random_content(std::mt19937_64& random) {
    const std::uint64_t most = random() % 10 == 0 ? 2500 : 40;
    return blob(8, Bytes(random() % most, 'n'));  // of a tensor: its name; of a node: overload
}

void add_field(Layout& layout, std::mt19937_64& random) {
    static const wire::FieldRow* const kRows[] = {
        &field<"GraphProto.node">,  &field<"GraphProto.initializer">,
        &field<"GraphProto.input">, &field<"GraphProto.metadata_props">,
        &field<"GraphProto.name">,
    };
    switch (random() % 8) {
        case 0: append(layout.bytes, scalar(999, random())); return;
        case 1: append(layout.bytes, scalar(1, 5)); return;  // node's number, another wire type
        case 2: append(layout.bytes, group(7, scalar(1, 1))); return;
        default: break;
    }
    // So some fields are common and some are rare.
    const wire::FieldRow* row = kRows[std::min(random() % 5, random() % 5)];
    layout.offsets[row].push_back(layout.bytes.size());
    append(layout.bytes, blob(row->number, random_content(random)));
}

Layout random_layout(std::mt19937_64& random) {
    Layout layout;
    const std::uint64_t count = 1 + random() % 4;
    for (std::uint64_t piece = 0; piece < count; ++piece) {
        append(layout.bytes, Bytes(2 + random() % 20, 0xee));  // bytes that are not the graph's
        const std::uint64_t begin = layout.bytes.size();
        for (std::uint64_t i = 1 + random() % 120; i > 0; --i) add_field(layout, random);
        layout.pieces.push_back({begin, layout.bytes.size() - begin});
    }
    append(layout.bytes, Bytes(3, 0xee));
    return layout;
}

onnx::Message graph_of(const Layout& layout, const std::uint8_t* origin) {
    std::vector<ByteView> pieces;
    for (const wire::Span& span : layout.pieces)
        pieces.emplace_back(origin + span.offset, span.size);
    return {message<"GraphProto">, std::move(pieces)};
}

void check_row(const model::FieldIndex& index, const wire::FieldRow& row,
               const std::vector<std::uint64_t>& offsets, const std::uint8_t* origin) {
    REQUIRE(index.count(row) == offsets.size());
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        const wire::Field found = index.at(row, i);
        REQUIRE(found.begin == origin + offsets[i]);
        REQUIRE(found.number == row.number);
    }
    const auto last = index.last(row);
    REQUIRE(last.has_value() == !offsets.empty());
    if (last) CHECK(last->begin == origin + offsets.back());

    std::vector<std::uint64_t> seen;
    index.for_each(row, [&](const wire::Field& found) {
        seen.push_back(static_cast<std::uint64_t>(found.begin - origin));
    });
    CHECK(seen == offsets);
    model::FieldIndex::Cursor cursor(index, row);
    wire::Field found;
    for (std::size_t i = 0; i < offsets.size(); ++i) REQUIRE(cursor.next(found));
    CHECK_FALSE(cursor.next(found));
    CHECK_FALSE(cursor.next(found));
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        model::FieldIndex::Cursor first_jump(index, row);
        first_jump.skip_to(i);
        REQUIRE(first_jump.next(found));
        REQUIRE(found.begin == origin + offsets[i]);
    }
    for (const std::size_t step : {1U, 2U, 15U, 40U}) {
        model::FieldIndex::Cursor skipping(index, row);
        for (std::size_t i = 0; i < offsets.size(); i += step) {
            skipping.skip_to(i);
            REQUIRE(skipping.next(found));
            REQUIRE(found.begin == origin + offsets[i]);
            REQUIRE(skipping.position() == i + 1);
        }
    }
}

void check_index(const model::FieldIndex& index, Layout& layout, const std::uint8_t* origin) {
    for (const wire::FieldRow& row : message<"GraphProto">.fields) {
        check_row(index, row, layout.offsets[&row], origin);
    }
}

}  // namespace

TEST_CASE("field_index: a walk indexes any mixture of fields in any pieces") {
    std::mt19937_64 random(8);
    for (int round = 0; round < 60; ++round) {
        Layout layout = random_layout(random);
        const HeapCopy copy(layout.bytes);
        const std::uint8_t* origin = copy.view().data();
        check_index(model::FieldIndex(graph_of(layout, origin), origin), layout, origin);
    }
}

TEST_CASE("field_index: the load pass indexes a graph in any pieces") {
    std::mt19937_64 random(9);
    for (int round = 0; round < 60; ++round) {
        // Each piece of the layout becomes a `graph` field of a model.
        const Layout source = random_layout(random);
        Layout layout;
        for (const wire::Span& span : source.pieces) {
            const ByteView content = ByteView(source.bytes).subspan(span.offset, span.size);
            append(layout.bytes, join(scalar(1, 8), blob(7, Bytes{})));
            append(layout.bytes, blob(7, join(content)));
            const std::uint64_t begin = layout.bytes.size() - span.size;
            layout.pieces.push_back({begin, span.size});
            for (const auto& [row, offsets] : source.offsets) {
                for (const std::uint64_t offset : offsets) {
                    if (offset < span.offset || offset >= span.offset + span.size) continue;
                    layout.offsets[row].push_back(offset - span.offset + begin);
                }
            }
        }
        const HeapCopy copy(layout.bytes);
        const std::uint8_t* origin = copy.view().data();
        auto structure = model_structure(copy.view());
        REQUIRE(structure.child_parts.size() == layout.pieces.size());
        check_index(model::FieldIndex(graph_of(layout, origin), origin, std::move(structure.child)),
                    layout, origin);
    }
}

TEST_CASE("field_index: a walk over a field touches nothing that lies far before or behind it") {
    Bytes bytes = blob(5, "the first tensor");
    for (int i = 0; i < 3000; ++i) append(bytes, blob(1, "a node"));
    for (int i = 0; i < 100; ++i) append(bytes, blob(12, "an output"));
    for (int i = 0; i < 3000; ++i) append(bytes, blob(11, "an input"));
    HeapCopy copy(bytes);
    const onnx::Message graph(message<"GraphProto">, copy.view());
    const model::FieldIndex index(graph, copy.view().data());
    constexpr std::uint8_t kNoTag = 0xff;
    std::ranges::fill(std::span(copy.data(), 100), kNoTag);
    std::ranges::fill(std::span(copy.data() + bytes.size() - 100, 100), kNoTag);
    int outputs = 0;
    index.for_each(field<"GraphProto.output">, [&](const wire::Field&) { ++outputs; });
    CHECK(outputs == 100);
    CHECK(code_of([&] {
              index.for_each(field<"GraphProto.initializer">, [](const wire::Field&) {});
              return 0;
          }) != "accepted");
}

TEST_CASE("field_index: an empty message has no fields") {
    const model::FieldIndex index(onnx::Message(message<"GraphProto">, ByteView{}), nullptr);
    CHECK(index.count(field<"GraphProto.node">) == 0);
    CHECK_FALSE(index.last(field<"GraphProto.node">));
    index.for_each(field<"GraphProto.node">,
                   [](const wire::Field&) { FAIL("a field in an empty message"); });
}

TEST_CASE("field_index: to a walk, an unlisted enum value is not an occurrence") {
    const Bytes bytes = join(scalar(14, 1), blob(8, "w"), scalar(14, 7));
    const auto& row = field<"TensorProto.data_location">;
    const model::FieldIndex index(onnx::Message(message<"TensorProto">, bytes), bytes.data());
    CHECK(index.count(row) == 1);
    CHECK(index.last(row)->int32() == 1);
}

TEST_CASE("field_index: to the load pass, an unlisted enum value is not an occurrence") {
    const Bytes bytes = join(scalar(14, 1), blob(8, "w"), scalar(14, 7));
    const auto& table = message<"TensorProto">;
    MemoryFeed feed(bytes);
    auto structure = wire::read_structure(feed, onnx::kSchema, table, {});
    const model::FieldIndex index(onnx::Message(table, bytes), bytes.data(),
                                  std::move(structure.fields));
    const auto& row = field<"TensorProto.data_location">;
    CHECK(index.count(row) == 1);
    CHECK(code_of([&] { return index.last(row); }) == "accepted");
    CHECK(code_of([&] { return index.at(row, 0); }) == "accepted");
}

TEST_CASE("field_index: bytes that changed give an error, and reads stay inside") {
    std::mt19937_64 random(10);
    Layout layout = random_layout(random);
    const auto& row = field<"GraphProto.node">;
    for (int round = 0; round < 200; ++round) {
        HeapCopy copy(layout.bytes);
        const model::FieldIndex index(graph_of(layout, copy.view().data()), copy.view().data());
        for (std::size_t i = 0; i < 10; ++i) {
            copy.data()[random() % layout.bytes.size()] = static_cast<std::uint8_t>(random());
        }
        const auto inside = [&](const wire::Field& found) {
            const std::uint8_t* end = copy.view().data() + copy.view().size();
            return found.begin >= copy.view().data() && found.end <= end;
        };
        const std::string looked_up = code_of([&] {
            for (std::uint64_t i = 0; i < index.count(row); ++i) {
                const wire::Field found = index.at(row, i);
                REQUIRE(inside(found));
            }
            return 0;
        });
        const std::string walked = code_of([&] {
            index.for_each(row, [&](const wire::Field& found) { REQUIRE(inside(found)); });
            return 0;
        });
        for (const std::string& code : {looked_up, walked}) {
            const bool expected =
                code == "accepted" || code == "file.changed" || code.starts_with("wire.");
            CHECK_MESSAGE(expected, code);
        }
    }
}

}  // namespace onnxmap::test
