// What a document keeps of its edits: keys, memory, held content, removed messages.
#include "model/edits.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "caught.hpp"
#include "edited_document.hpp"

namespace onnxmap::test {

namespace {

using model::Edits;
using onnx::field;
using onnx::Message;
using onnx::message;

// A source over bytes that others look at, too.
class Window final : public source::Source {
  public:
    explicit Window(ByteView bytes) {
        data_ = bytes.data();
        size_ = bytes.size();
    }
    [[nodiscard]] const char* kind() const noexcept override { return "buffer"; }
};

}  // namespace

TEST_CASE("edits: memory for new fields never moves and never overlaps") {
    Edits edits;
    std::vector<std::span<std::uint8_t>> all;
    for (std::size_t i = 0; i < 400; ++i) {
        const std::size_t nbytes = i % 50 == 0 ? 0 : i * i % 9'000;
        all.push_back(edits.allocate(nbytes));
        REQUIRE(all.back().size() == nbytes);
        std::memset(all.back().data(), static_cast<int>(i % 251), nbytes);
    }
    all.push_back(edits.allocate(5 << 20));
    std::memset(all.back().data(), 1, all.back().size());
    for (std::size_t i = 0; i < 400; ++i) {
        for (const std::uint8_t byte : all[i]) REQUIRE(byte == i % 251);
    }
    for (const auto bytes : all) {
        CHECK(edits.is_added(bytes.data()));
        CHECK(edits.is_added(bytes.data() + bytes.size()));  // an empty message may be there
        const auto source = edits.source_of(bytes);
        REQUIRE(source);
        CHECK(source->data() < bytes.data());
        CHECK(bytes.data() + bytes.size() < source->data() + source->size());
    }
    const int other = 0;
    CHECK_FALSE(edits.is_added(reinterpret_cast<const std::uint8_t*>(&other)));
}

TEST_CASE("edits: the source of held content is found as long as a field holds it") {
    Edits edits;
    const Bytes memory(1000, 7);
    auto source = std::make_shared<Window>(memory);
    const ByteView bytes = source->bytes().subspan(100, 50);
    auto held = edits.hold(source, bytes);
    CHECK(edits.source_of(bytes) == source);
    CHECK(edits.source_of(bytes.first(1)) == source);
    CHECK(edits.source_of(bytes.subspan(50)) == source);
    CHECK(edits.source_of(source->bytes()) == source);
    CHECK(edits.source_of({memory.data() + 1, 1000}) == nullptr);
    source.reset();
    CHECK(edits.source_of(bytes) != nullptr);
    held = {};
    CHECK(edits.source_of(bytes) == nullptr);
}

TEST_CASE("edits: held sources may overlap") {
    Edits edits;
    const Bytes memory(1000, 7);
    const ByteView all(memory);
    const auto whole = std::make_shared<Window>(all);
    auto same = std::make_shared<Window>(all);
    auto first = std::make_shared<Window>(all.first(10));
    auto inner = std::make_shared<Window>(all.subspan(100, 50));
    const auto held = edits.hold(whole, all);
    const auto is_found = [&](ByteView bytes) {
        const auto source = edits.source_of(bytes);
        if (!source) return false;
        const std::uint64_t before = source->offset_of(bytes);
        return before <= source->size() && bytes.size() <= source->size() - before;
    };
    for (auto* other : {&same, &first, &inner}) {
        auto content = edits.hold(*other, (*other)->bytes());
        CHECK(is_found(all.subspan(500, 10)));
        CHECK(is_found(all.subspan(90, 20)));
        CHECK(is_found(all.subspan(5, 20)));
        CHECK(is_found(all));
        other->reset();
        content = {};
        CHECK(edits.source_of(all.subspan(120, 10)) == whole);
        CHECK(edits.source_of(all.first(5)) == whole);
    }
}

TEST_CASE("edits: sources that are gone are forgotten, and others are kept once") {
    Edits edits;
    const Bytes memory(4, 7);
    const auto lasting = std::make_shared<Window>(memory);
    std::vector<onnx::HeldContent> kept;
    for (int i = 0; i < 50; ++i) kept.push_back(edits.hold(lasting, lasting->bytes()));
    CHECK(lasting.use_count() == 51);
    for (int i = 0; i < 10'000; ++i) {
        const auto source = std::make_shared<MemorySource>(memory);
        const auto content = edits.hold(source, source->bytes());
        REQUIRE(edits.source_of(content.bytes) == source);
    }
    CHECK(edits.source_of(lasting->bytes()) == lasting);
}

TEST_CASE("edits: the first message in a place is known through all that took it") {
    const EditedDocument edited(model(graph_with({node("A"), node("B"), node("C")})));
    model::Edits& edits = edited.document->editable();
    const auto first_key = [&](std::uint64_t i) {
        return edits.first_in_place(edited.node(i)).key();
    };
    const std::uint8_t* const a = edited.node(0).key();
    const std::uint8_t* const b = edited.node(1).key();
    CHECK(first_key(1) == b);
    edits.note_replacement(edited.node(1), edited.node(0));
    CHECK(first_key(1) == a);
    edits.note_replacement(edited.node(2), edited.node(1));
    CHECK(first_key(2) == a);
    CHECK(first_key(1) == b);
    edits.revert();
    CHECK(edits.first_in_place(edited.node(2)).key() == edited.node(2).key());
}

TEST_CASE("edits: a message is known by its key, whatever becomes of its fields") {
    const EditedDocument edited(model(graph_with({node("A"), node("B")})));
    const Message before = edited.node(0);
    model::set_value(*edited, before, field<"NodeProto.op_type">, new_value(blob(4, "C")));
    CHECK(before.text(field<"NodeProto.op_type">) == "A");  // a Message stays what it was
    const Message now = before.current();
    CHECK(now.key() == before.key());
    CHECK(now.edited());
    CHECK(now.text(field<"NodeProto.op_type">) == "C");
    CHECK(edited.node(0).text(field<"NodeProto.op_type">) == "C");
    CHECK(edited.node(1).text(field<"NodeProto.op_type">) == "B");
    CHECK(now.loaded().data() == before.loaded().data());
    CHECK(now.loaded().size() == before.loaded().size());
}

TEST_CASE("edits: reverting brings back what was loaded, merged messages included") {
    const Bytes bytes = join(blob(7, join(blob(2, "a"), blob(1, node("A")))), scalar(1, 8),
                             blob(7, join(blob(2, "b"), blob(1, node("B")))));
    const EditedDocument edited(bytes);
    const Message loaded = edited.graph();
    REQUIRE(loaded.pieces()->occurrences().size() == 2);
    model::set_value(*edited, edited.graph(), field<"GraphProto.name">, new_value(blob(2, "c")));
    const Message added =
        model::insert(*edited, edited.graph(), field<"GraphProto.node">, 0, std::nullopt);
    model::set_value(*edited, added, field<"NodeProto.op_type">, new_value(blob(4, "X")));
    const Message changed = edited.graph();
    CHECK(changed.text(field<"GraphProto.name">) == "c");
    REQUIRE(changed.pieces()->merged()->occurrences().size() == 2);

    const std::uint64_t count = (*edited).edits().count();
    (*edited).editable().revert();
    CHECK((*edited).edits().count() > count);
    CHECK_FALSE((*edited).edits().any());
    CHECK(edited.flat() == bytes);
    CHECK(changed.current().pieces() == changed.pieces()->merged());
    CHECK(changed.current().text(field<"GraphProto.name">) == "b");
    CHECK(edited.graph().text(field<"GraphProto.name">) == "b");
    // What was added can still be read, and no longer be changed.
    CHECK(code_of([&] {
              model::set_value(*edited, added, field<"NodeProto.op_type">, new_value(blob(4, "Y")));
              return 0;
          }) == "edit.removed");
    CHECK(added.current().nbytes() == 0);
    // New edits begin anew, in memory of their own.
    const Message again =
        model::insert(*edited, edited.graph(), field<"GraphProto.node">, 0, std::nullopt);
    CHECK(again.key() != added.key());
    model::set_value(*edited, again, field<"NodeProto.op_type">, new_value(blob(4, "Z")));
    CHECK(edited.node(0).text(field<"NodeProto.op_type">) == "Z");
}

TEST_CASE("edits: what a removed message holds is removed, and nothing beside it") {
    // Empty messages at the ends of messages have the address of the next field.
    const Bytes empty_end = join(blob(4, "If"), blob(5, join(blob(1, "g"), blob(6, Bytes{}))));
    const Bytes nodes = graph_with({node("A"), empty_end, Bytes{}, node("B")});
    const EditedDocument edited(model(nodes));
    const auto& row = field<"GraphProto.node">;
    std::vector<Message> handles;
    for (std::uint64_t i = 0; i < 4; ++i) handles.push_back(edited.node(i));
    const Message attribute = edited.element(handles[1], field<"NodeProto.attribute">, 0);
    const Message subgraph = attribute.child(field<"AttributeProto.g">).value();
    // Also below what is added to a message that is removed later.
    const Message inner =
        model::insert(*edited, subgraph, field<"GraphProto.node">, 0, std::nullopt);
    const Message deeper =
        model::insert(*edited, inner, field<"NodeProto.attribute">, 0, std::nullopt);

    const Edits& edits = (*edited).edits();
    const std::uint64_t one[] = {1};
    model::erase(*edited, edited.graph(), row, one);
    CHECK_FALSE(edits.is_removed(handles[0]));
    CHECK(edits.is_removed(handles[1]));
    CHECK(edits.is_removed(attribute));
    CHECK(edits.is_removed(subgraph));
    CHECK(edits.is_removed(inner));
    CHECK(edits.is_removed(deeper));
    CHECK_FALSE(edits.is_removed(handles[2]));
    CHECK_FALSE(edits.is_removed(handles[3]));
    CHECK_FALSE(edits.is_removed(edited.graph()));
    CHECK_FALSE(edits.is_removed(edited.root()));

    model::erase(*edited, edited.graph(), row, one);  // the empty one
    CHECK(edits.is_removed(handles[2]));
    CHECK_FALSE(edits.is_removed(handles[3]));
    CHECK_FALSE(edits.is_removed(handles[0]));
    CHECK(code_of([&] {
              model::clear(*edited, handles[2], field<"NodeProto.name">);
              return 0;
          }) == "edit.removed");
    // Removing what holds removed messages covers them.
    model::clear(*edited, edited.root(), field<"ModelProto.graph">);
    for (const Message& each : handles) CHECK(edits.is_removed(each));
    CHECK_FALSE(edits.is_removed(edited.root()));
}

TEST_CASE("edits: every occurrence of a merged message is removed") {
    const EditedDocument edited(
        join(blob(7, graph_with({node("A")})), blob(7, graph_with({node("B")})), scalar(1, 8)));
    const Message first = edited.node(0);
    const Message second = edited.node(1);
    model::set_value(*edited, second, field<"NodeProto.op_type">, new_value(blob(4, "C")));
    model::clear(*edited, edited.root(), field<"ModelProto.graph">);
    CHECK((*edited).edits().is_removed(first));
    CHECK((*edited).edits().is_removed(second));
    CHECK(edited.flat() == scalar(1, 8));
}

TEST_CASE("edits: content that is the model's own bytes is no part of the message that has it") {
    const Bytes bytes = model(graph_with({node("A"), node("B")}));
    const EditedDocument edited(bytes);
    const Message tensor =
        model::insert(*edited, edited.graph(), field<"GraphProto.initializer">, 0, std::nullopt);
    model::NewValue all;
    all.source = edited.source;
    all.content = edited.source->bytes();
    model::set_value(*edited, tensor, field<"TensorProto.raw_data">, all);
    model::set_value(*edited, edited.graph(), field<"GraphProto.name">, new_value(blob(2, "n")));
    const std::uint64_t first[] = {0};
    model::erase(*edited, edited.graph(), field<"GraphProto.initializer">, first);
    CHECK((*edited).edits().is_removed(tensor));
    CHECK_FALSE((*edited).edits().is_removed(edited.graph()));
    CHECK_FALSE((*edited).edits().is_removed(edited.node(1)));
}

TEST_CASE("edits: a message of another memory that begins where a block ends is not added") {
    Edits edits;
    const auto small = edits.allocate(1);
    const auto block = edits.source_of(small);
    CHECK_FALSE(edits.is_added(block->data() + block->size()));
    CHECK(edits.source_of({block->data() + block->size(), 1}) == nullptr);
}

TEST_CASE("edits: the log has each step from its start on") {
    using Kind = model::EditStep::Kind;
    const EditedDocument edited(model(graph_with({node("A"), node("B")})));
    Edits& edits = (*edited).editable();
    const auto& row = field<"NodeProto.op_type">;
    model::set_value(*edited, edited.node(0), row, new_value(blob(4, "C")));
    std::uint64_t place = edits.start_log();
    std::vector<model::EditStep> steps;
    CHECK(edits.steps_since(place, steps));
    CHECK(steps.empty());

    const Message first = edited.node(0);
    model::set_value(*edited, first, row, new_value(blob(4, "D")));
    const Message added =
        model::insert(*edited, edited.graph(), field<"GraphProto.node">, 1, std::nullopt);
    const std::uint64_t gone[] = {0};
    model::erase(*edited, edited.graph(), field<"GraphProto.node">, gone);
    REQUIRE(edits.steps_since(place, steps));
    REQUIRE(steps.size() == 5);
    CHECK(steps[0].kind == Kind::changed);
    CHECK(steps[0].key() == first.key());
    CHECK(steps[0].table == &first.table());
    CHECK(steps[0].rows == onnx::Pieces::rows(first.table(), row));
    CHECK(steps[1].kind == Kind::added);
    CHECK(steps[1].key() == added.key());
    CHECK(steps[1].parent == edited.graph().key());
    CHECK(steps[1].list == &field<"GraphProto.node">);
    CHECK(steps[2].key() == edited.graph().key());
    CHECK(steps[3].kind == Kind::removed);
    CHECK(steps[3].key() == first.key());
    CHECK(steps[4].kind == Kind::changed);
    steps.clear();
    CHECK(edits.steps_since(place, steps));
    CHECK(steps.empty());

    edits.revert();
    CHECK_FALSE(edits.steps_since(place, steps));
    place = edits.start_log();
    for (int i = 0; i < 40'000; ++i) {
        model::set_value(*edited, edited.node(0), row, new_value(blob(4, "E")));
    }
    CHECK_FALSE(edits.steps_since(place, steps));
}

TEST_CASE("edits: nodes that are removed together are gone, and only they") {
    const EditedDocument edited(model(graph_with(
        {node("A"), {}, node("B"), node("C"), {}, node("D"), {}, node("E"), node("F")})));
    const wire::FieldRow& nodes = field<"GraphProto.node">;
    std::vector<Message> before;
    for (std::uint64_t i = 0; i < 9; ++i) before.push_back(edited.node(i));
    model::set_value(*edited, before[3], field<"NodeProto.name">, new_value(blob(3, "new")));
    const auto place = edited.document->editable().start_log();
    model::erase(*edited, edited.graph(), nodes, std::vector<std::uint64_t>{0, 2, 3, 4, 7});
    for (std::uint64_t i = 0; i < 9; ++i) {
        const bool is_gone = i == 0 || (i >= 2 && i <= 4) || i == 7;
        CHECK(edited.document->edits().is_removed(before[i]) == is_gone);
    }
    std::uint64_t read = place;
    std::vector<model::EditStep> steps;
    REQUIRE(edited.document->edits().steps_since(read, steps));
    CHECK(steps.size() == 6);  // five nodes, and the graph
    edited.document->editable().revert();
    for (const Message& each : before) CHECK_FALSE(edited.document->edits().is_removed(each));
}

}  // namespace onnxmap::test
