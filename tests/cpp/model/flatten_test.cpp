// The flat form of an edited message: which ranges it consists of, and what it means when loaded.
#include "model/flatten.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "caught.hpp"
#include "edited_document.hpp"
#include "model/copy_message.hpp"
#include "model/equality.hpp"

namespace onnxmap::test {

namespace {

using onnx::field;
using onnx::Message;
using onnx::message;

bool holds(ByteView bytes, ByteView part) {
    return bytes.data() <= part.data() && part.data() + part.size() <= bytes.data() + bytes.size();
}

// Pretends to have many bytes; none of them is there.
class Huge final : public source::Source {
  public:
    explicit Huge(std::uint64_t nbytes) {
        static const std::uint8_t first = 0;
        data_ = &first;
        size_ = nbytes;
    }
    [[nodiscard]] const char* kind() const noexcept override { return "buffer"; }
};

// The innermost TypeProto of a chain that is made present.
Message make_deep(const EditedDocument& edited, std::size_t levels) {
    Message type = edited.root();
    for (std::size_t i = 0; i < levels; ++i) {
        const Message list = model::make_present(*edited, type, field<"TypeProto.sequence_type">);
        type = model::make_present(*edited, list, field<"TypeProto.Sequence.elem_type">);
    }
    return type;
}

}  // namespace

TEST_CASE("flatten: a message without an edit is one range, or its occurrences") {
    const Bytes bytes = varied_model();
    const EditedDocument edited(bytes);
    const auto parts = flat_parts(*edited, edited.root()).parts;
    REQUIRE(parts.size() == 1);
    CHECK(parts[0].range.data() == edited.source->data());
    CHECK(edited.flat() == bytes);
    CHECK(flat_parts(*edited, edited.graph()).parts.size() == 2);
    CHECK(model::FlatMessage(*edited, edited.graph()).nbytes() == edited.graph().nbytes());

    const EditedDocument empty(Bytes{});
    CHECK(flat_parts(*empty, empty.root()).parts.empty());
}

TEST_CASE("flatten: all bytes but the edit and the lengths above it are those of the source") {
    const Bytes before = repeat(500, blob(1, node("Before")));
    const Bytes after = repeat(500, blob(1, node("After")));
    const EditedDocument edited(model(join(before, blob(1, node("Old")), after)));
    model::set_value(*edited, edited.node(500), field<"NodeProto.op_type">,
                     new_value(blob(4, "New")));
    const auto parts = flat_parts(*edited, edited.root()).parts;
    std::uint64_t from_source = 0;
    std::size_t heads = 0;
    std::size_t added = 0;
    for (const FlatPart& part : parts) {
        if (part.range.empty()) {
            ++heads;
            CHECK(part.added.size() <= 4);
        } else if (holds(edited.source->bytes(), part.range)) {
            from_source += part.range.size();
        } else {
            ++added;
            CHECK(part.range.size() == blob(4, "New").size());
        }
    }
    CHECK(heads == 2);  // of the graph and of the node
    CHECK(added == 1);
    CHECK(parts.size() == 7);
    const Bytes expected = model(join(before, blob(1, node("New")), after));
    CHECK(edited.flat() == expected);
    CHECK(from_source == expected.size() - 5 - 3 - 2);
    CHECK(model::FlatMessage(*edited, edited.root()).nbytes() == expected.size());
    // A message beside the edit is still one range.
    CHECK(flat_parts(*edited, edited.node(499)).parts.size() == 1);
}

TEST_CASE("flatten: an edit within a member of a oneof stays behind the members it replaces") {
    const Bytes one = blob(1, scalar(1, 1));
    const Bytes other = blob(4, blob(1, Bytes{}));
    const Bytes two = join(blob(1, scalar(1, 2)), blob(1, Bytes{}), blob(1, scalar(1, 3)));
    const auto& tensor = field<"TypeProto.tensor_type">;
    const EditedDocument edited(blob(2, join(one, other, two)), message<"ValueInfoProto">);
    const Message type = edited.child(field<"ValueInfoProto.type">);
    const Message now = type.child(tensor).value();
    model::set_value(*edited, now, field<"TypeProto.Tensor.elem_type">, new_value(scalar(1, 9)));
    CHECK(edited.flat() == blob(2, join(one, other, blob(1, scalar(1, 9)), blob(1, Bytes{}))));
    // The same in a message that has been edited itself.
    model::set_value(*edited, type, field<"TypeProto.denotation">, new_value(blob(6, "d")));
    CHECK(edited.flat() ==
          blob(2, join(one, other, blob(1, scalar(1, 9)), blob(1, Bytes{}), blob(6, "d"))));
    const EditedDocument again(edited.flat(), message<"ValueInfoProto">);
    CHECK(model::equal(*again, again.root(), *edited, edited.root()));
}

TEST_CASE("flatten: an edit of an empty message that occurs several times") {
    const EditedDocument edited(join(blob(7, Bytes{}), scalar(1, 8), blob(7, Bytes{})));
    model::set_value(*edited, edited.graph(), field<"GraphProto.name">, new_value(blob(2, "g")));
    const EditedDocument again(edited.flat());
    CHECK(again.graph().text(field<"GraphProto.name">) == "g");
    CHECK(model::equal(*again, again.root(), *edited, edited.root()));
}

TEST_CASE("flatten: many empty occurrences of a message cost no more than the message") {
    const EditedDocument edited(join(blob(1, "a"), repeat(200'000, blob(5, Bytes{}))),
                                message<"AttributeProto">);
    model::set_value(*edited, edited.root(), field<"AttributeProto.name">, new_value(blob(1, "b")));
    CHECK(edited.flat() == join(blob(1, "b"), repeat(200'000, blob(5, Bytes{}))));
    model::set_value(*edited, edited.child(field<"AttributeProto.t">), field<"TensorProto.name">,
                     new_value(blob(8, "w")));
    CHECK(edited.flat().size() == 3 + 2 * 200'000 + 3);
}

TEST_CASE("flatten: content that is elsewhere is a range of its own") {
    // Both contents lie side by side in memory, and belong to two sources.
    Bytes memory(20'000, 5);
    const ByteView all(memory);
    class Part final : public source::Source {
      public:
        explicit Part(ByteView bytes) {
            data_ = bytes.data();
            size_ = bytes.size();
        }
        [[nodiscard]] const char* kind() const noexcept override { return "buffer"; }
    };
    std::vector<model::NewValue> values(2);
    values[0].source = std::make_shared<Part>(all.first(10'000));
    values[1].source = std::make_shared<Part>(all.subspan(10'000));
    for (model::NewValue& each : values) each.content = each.source->bytes();
    const EditedDocument edited(blob(8, "n"), message<"TensorProto">);
    model::set_values(*edited, edited.root(), field<"TensorProto.string_data">, values);
    const auto parts = flat_parts(*edited, edited.root()).parts;
    REQUIRE(parts.size() == 5);
    CHECK(parts[2].range.data() == memory.data());
    CHECK(parts[4].range.data() == memory.data() + 10'000);
    for (const std::size_t i : {2U, 4U}) {
        CHECK((*edited).source_of(parts[i].range) == values[i / 2 - 1].source);
    }
    CHECK(edited.flat() ==
          join(blob(8, "n"), blob(6, Bytes(10'000, 5)), blob(6, Bytes(10'000, 5))));
}

TEST_CASE("flatten: messages that edits nest too deeply are refused") {
    for (const std::size_t levels : {49U, 50U, 51U, 200U, 20'000U}) {
        const EditedDocument edited(Bytes{}, message<"TypeProto">);
        const Message innermost = make_deep(edited, levels);
        CAPTURE(levels);
        CHECK(code_of([&] { return edited.flat(); }) ==
              (levels <= 50 ? "accepted" : "limit.depth"));
        if (levels != 50) continue;
        CHECK(code_of([&] { return EditedDocument(edited.flat(), message<"TypeProto">).source; }) ==
              "accepted");
        static_cast<void>(model::make_present(*edited, innermost, field<"TypeProto.tensor_type">));
        CHECK(code_of([&] { return edited.flat(); }) == "limit.depth");
    }
}

TEST_CASE("flatten: copies that are deep where they are now are refused") {
    std::vector<std::uint64_t> levels;
    for (int i = 0; i < 40; ++i) levels.insert(levels.end(), {4, 1});
    const Bytes unknown_groups = [] {
        Bytes bytes;
        for (int i = 0; i < 60; ++i) bytes = group(900, bytes);
        return bytes;
    }();
    for (const Bytes& content : {nested(levels), unknown_groups}) {
        const EditedDocument from(content, message<"TypeProto">);
        const EditedDocument edited(Bytes{}, message<"TypeProto">);
        model::merge_from(*edited, make_deep(edited, 10), {*from, from.root()});
        CHECK(code_of([&] { return edited.flat(); }) == "accepted");
        model::merge_from(*edited, make_deep(edited, 40), {*from, from.root()});
        CHECK(code_of([&] { return edited.flat(); }) == "limit.depth");
        // Alone, the part is as deep as it was.
        CHECK(code_of([&] { return edited.flat(make_deep(edited, 40)); }) == "accepted");
    }
}

TEST_CASE("flatten: more bytes than a file can have") {
    const EditedDocument edited(Bytes{}, message<"TensorProto">);
    const auto source = std::make_shared<Huge>(std::uint64_t{1} << 62);
    std::vector<model::NewValue> values;
    for (const std::size_t count : {1U, 2U, 4U, 5U}) {
        values.assign(count, {});
        for (model::NewValue& each : values) {
            each.source = source;
            each.content = source->bytes();
        }
        model::set_values(*edited, edited.root(), field<"TensorProto.string_data">, values);
        const auto nbytes = [&] { return model::FlatMessage(*edited, edited.root()).nbytes(); };
        CHECK(code_of(nbytes) == (count == 1 ? "accepted" : "save.too_large"));
        if (count == 1) CHECK(nbytes() == (std::uint64_t{1} << 62) + 10);
    }
}

TEST_CASE("flatten: bytes that change between measuring and writing are an error") {
    const Bytes bytes = join(blob(1, node("A")), blob(1, node("B")), blob(1, node("C")));
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        for (const int change : {1, 2, 5, 60, 128}) {
            const EditedDocument edited(bytes, message<"GraphProto">);
            const Message second = edited.element(edited.root(), field<"GraphProto.node">, 1);
            model::set_value(*edited, second, field<"NodeProto.name">,
                             new_value(blob(3, std::string(40, 'n'))));
            std::uint8_t& byte = edited.source->writable()[at];
            const model::FlatMessage flat(*edited, edited.root());
            byte = static_cast<std::uint8_t>(byte + change);
            PartSink sink;
            const std::string code = code_of([&] {
                flat.write(sink);
                return 0;
            });
            const bool expected =
                code == "accepted" || code == "file.changed" || code.starts_with("wire.");
            CHECK_MESSAGE(expected, code);
            CHECK(sink.bytes().size() <= flat.nbytes());
            CHECK((sink.bytes().size() == flat.nbytes() || code != "accepted"));
        }
    }
}

TEST_CASE("flatten: what it writes is the state when it was made") {
    const EditedDocument edited(model(repeat(100, blob(1, node("A")))));
    static_cast<void>(
        model::insert(*edited, edited.graph(), field<"GraphProto.node">, 50, std::nullopt));
    const Bytes before = edited.flat();
    const model::FlatMessage flat(*edited, edited.root());
    for (std::uint64_t i = 0; i < 100; i += 7) {
        model::set_value(*edited, edited.node(i), field<"NodeProto.op_type">,
                         new_value(blob(4, "Longer")));
    }
    model::clear(*edited, edited.graph(), field<"GraphProto.name">);
    PartSink sink;
    flat.write(sink);
    CHECK(sink.bytes() == before);
    CHECK(edited.flat() != before);
}

TEST_CASE("flatten: a part of an edited document has the edits below it") {
    const EditedDocument edited(model(join(blob(1, node("A")), blob(1, node("B")))));
    const Message added =
        model::insert(*edited, edited.graph(), field<"GraphProto.node">, 1, std::nullopt);
    const Message attribute =
        model::insert(*edited, added, field<"NodeProto.attribute">, 0, std::nullopt);
    model::set_value(*edited, attribute, field<"AttributeProto.name">, new_value(blob(1, "n")));
    CHECK(edited.flat(added.current()) == blob(5, blob(1, "n")));
    CHECK(edited.flat(attribute.current()) == blob(1, "n"));
    CHECK(edited.flat(edited.node(0)) == node("A"));
    CHECK(edited.flat(edited.graph()) ==
          join(blob(1, node("A")), blob(1, blob(5, blob(1, "n"))), blob(1, node("B"))));
    const auto kept = (*edited).keep_alive(added);
    const std::uint64_t one[] = {1};
    model::erase(*edited, edited.graph(), field<"GraphProto.node">, one);
    CHECK(edited.flat(added.current()) == blob(5, blob(1, "n")));  // it can still be read
}

}  // namespace onnxmap::test
