// Copies of messages into a document: what they share, and what they mean.
#include "model/copy_message.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "caught.hpp"
#include "edited_document.hpp"
#include "model/equality.hpp"
#include "opened.hpp"
#include "source/mapped_pages.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

using onnx::field;
using onnx::Message;
using onnx::message;

constexpr std::size_t kLarge = 5000;

Message insert_copy(const EditedDocument& to, const Message& parent, const wire::FieldRow& row,
                    const model::Document& from, const Message& original) {
    return model::insert(*to, parent, row, UINT64_MAX, model::Original{from, original});
}

// A node whose copy must share content two levels down.
Bytes deep_node(const Bytes& large) {
    const Bytes tensor = join(blob(8, "t"), blob(9, large), scalar(2, 2));
    const Bytes sparse = join(blob(1, join(blob(9, large), packed(1, {3}))), packed(3, {9}));
    return node("If", {join(blob(1, "strings"), blob(9, "small"), blob(9, large), blob(9, "x"),
                            blob(9, large), scalar(20, 8)),
                       attribute("t", 4, blob(5, tensor)),
                       attribute("g", 5, blob(6, join(blob(5, tensor), blob(15, sparse)))),
                       attribute("s", 3, blob(4, large))});
}

std::shared_ptr<const model::Document> loaded_file(const std::string& path, source::IoMode mode) {
    model::LoadOptions options;
    options.root = &message<"GraphProto">;
    return std::make_shared<const model::Document>(open_source(path, mode), options);
}

}  // namespace

TEST_CASE("copy_message: a copy has the same bytes and is edited by itself") {
    const Bytes varied = varied_model();
    const EditedDocument from(varied);
    const EditedDocument to(model(blob(2, "g")));
    for (std::uint64_t i = 0; i < 3; ++i) {
        const Message copy =
            insert_copy(to, to.graph(), field<"GraphProto.node">, *from, from.node(i));
        CHECK(model::equal(*to, copy, *from, from.node(i)));
        CHECK(to.flat(copy) == to.flat(to.node(i)));
    }
    model::set_value(*to, to.node(0), field<"NodeProto.op_type">, new_value(blob(4, "New")));
    CHECK(from.flat() == varied);
    CHECK(from.node(0).text(field<"NodeProto.op_type">) == "Conv");
}

TEST_CASE("copy_message: large content is shared, at any depth and in its order") {
    const Bytes large(kLarge, 9);
    const EditedDocument from(join(blob(1, deep_node(large)), blob(1, node("B"))),
                              message<"GraphProto">);
    const EditedDocument to(Bytes{}, message<"GraphProto">);
    const Message original = from.element(from.root(), field<"GraphProto.node">, 0);
    const Message copy = insert_copy(to, to.root(), field<"GraphProto.node">, *from, original);
    CHECK(model::equal(*to, copy, *from, original));
    // Of the seven large contents, none was copied.
    std::uint64_t shared = 0;
    for (const FlatPart& part : flat_parts(*to, to.root()).parts) {
        if (part.range.empty()) continue;
        if (from.source->bytes().data() <= part.range.data() &&
            part.range.data() < from.source->bytes().data() + from.source->size()) {
            CHECK(part.range.size() == kLarge);
            ++shared;
        }
    }
    CHECK(shared == 6);
    const Message strings = to.element(copy.current(), field<"NodeProto.attribute">, 0);
    CHECK(texts_in(strings, field<"AttributeProto.strings">) ==
          std::vector<std::string>{"small", std::string(as_text(large)), "x",
                                   std::string(as_text(large))});
    // A copy of the copy shares the same bytes, and lives without the document between.
    EditedDocument last(Bytes{}, message<"GraphProto">);
    insert_copy(last, last.root(), field<"GraphProto.node">, *to, copy.current());
    const Bytes expected = to.flat();
    const_cast<EditedDocument&>(to).document.reset();
    CHECK(last.flat() == expected);
}

TEST_CASE("copy_message: the last of several values counts in the copy, too") {
    const Bytes large(kLarge, 9);
    for (const Bytes& tensor :
         {join(blob(9, large), blob(9, "small")), join(blob(9, "small"), blob(9, large)),
          join(blob(9, large), scalar(2, 2), blob(9, Bytes{}))}) {
        const EditedDocument from(blob(5, tensor), message<"GraphProto">);
        const EditedDocument to(Bytes{}, message<"GraphProto">);
        const Message original = from.element(from.root(), field<"GraphProto.initializer">, 0);
        const Message copy =
            insert_copy(to, to.root(), field<"GraphProto.initializer">, *from, original);
        CHECK(copy.current().text(field<"TensorProto.raw_data">) ==
              original.text(field<"TensorProto.raw_data">));
        CHECK(model::equal(*to, copy, *from, original));
    }
}

TEST_CASE("copy_message: merged messages and replaced members of a oneof become one message") {
    const Bytes type = join(blob(1, scalar(1, 1)), blob(4, Bytes{}), blob(1, scalar(1, 7)),
                            blob(1, blob(2, Bytes{})));
    const EditedDocument from(join(blob(11, join(blob(2, type), blob(1, "x"), blob(2, Bytes{})))),
                              message<"GraphProto">);
    const EditedDocument to(Bytes{}, message<"GraphProto">);
    const Message original = from.element(from.root(), field<"GraphProto.input">, 0);
    const Message copy = insert_copy(to, to.root(), field<"GraphProto.input">, *from, original);
    CHECK(to.flat(copy) ==
          join(blob(2, blob(1, join(scalar(1, 7), blob(2, Bytes{})))), blob(1, "x")));
    CHECK(model::equal(*to, copy, *from, original));
}

TEST_CASE("copy_message: files that are read, not mapped") {
    const TemporaryFolder folder;
    const Bytes large(kLarge, 9);
    const Bytes bytes = join(blob(1, deep_node(large)), group(900, blob(1, "unknown")),
                             blob(5, join(packed(7, std::vector<std::uint64_t>(3000, 1)))));
    const std::string path = folder.write("graph", ByteView(bytes));
    for (const auto mode : {source::IoMode::mmap, source::IoMode::read}) {
        const auto from = loaded_file(path, mode);
        const EditedDocument to(Bytes{}, message<"GraphProto">);
        model::merge_from(*to, to.root(), {*from, from->root()});
        const EditedDocument again(bytes, message<"GraphProto">);
        CHECK(model::equal(*to, to.root(), *again, again.root()));
        Bytes flat(model::FlatMessage(*to, to.root()).nbytes());
        CHECK(flat.size() == bytes.size());
        CHECK_FALSE(
            model::equal(*to, to.root(), *to, to.element(to.root(), field<"GraphProto.node">, 0)));
    }
}

TEST_CASE("copy_message: a file that was cut meanwhile is an error, and nothing is added") {
    const TemporaryFolder folder;
    const std::string path =
        folder.write("graph", ByteView(join(blob(1, node("A")), repeat(3000, blob(1, node("B"))))));
    const auto from = loaded_file(path, source::IoMode::mmap);
    const EditedDocument to(Bytes{}, message<"GraphProto">);
    std::filesystem::resize_file(path, 0);
    CHECK(code_of([&] {
              return insert_copy(to, to.root(), field<"GraphProto.node">, *from,
                                 from->root().inner(field<"GraphProto.node">,
                                                    wire::Field{1, WireType::length_delimited, 0,
                                                                from->source().bytes()}));
          }) == "file.changed");
    CHECK(code_of([&] {
              model::merge_from(*to, to.root(), {*from, from->root()});
              return 0;
          }) == "file.changed");
    CHECK_FALSE((*to).edits().any());
}

TEST_CASE("copy_message: shared content of a file that was cut is an error to read") {
    const TemporaryFolder folder;
    const Bytes content(kLarge * 4, 9);
    const std::string path = folder.write(
        "graph", ByteView(join(blob(5, join(blob(8, "t"), blob(9, content))), blob(2, "g"))));
    const auto from = loaded_file(path, source::IoMode::mmap);
    const EditedDocument to(Bytes{}, message<"GraphProto">);
    model::merge_from(*to, to.root(), {*from, from->root()});
    const Message tensor = to.element(to.root(), field<"GraphProto.initializer">, 0);
    const ByteView raw = tensor.find(field<"TensorProto.raw_data">)->bytes;
    std::vector<std::uint8_t> copy;
    CHECK((*to).readable(raw, copy).size() == content.size());
    std::filesystem::resize_file(path, 0);
    CHECK(code_of([&] { return (*to).readable(raw, copy).size(); }) == "file.changed");
    CHECK(code_of([&] { return model::equal(*to, to.root(), *to, to.root()); }) == "file.changed");
}

TEST_CASE("copy_message: too deep messages are refused") {
    // Sequence types within each other: two levels each.
    const auto nested_type = [](std::size_t levels) {
        std::vector<std::uint64_t> numbers;
        for (std::size_t i = 0; i < levels; ++i) numbers.insert(numbers.end(), {4, 1});
        return nested(numbers, blob(1, scalar(1, 1)));
    };
    model::LoadOptions deep;
    deep.limits.depth = 1000;
    const EditedDocument from(blob(2, nested_type(60)), message<"ValueInfoProto">, deep);
    const EditedDocument to(Bytes{}, message<"ValueInfoProto">);
    CHECK(code_of([&] {
              model::merge_from(*to, to.root(), {*from, from.root()});
              return 0;
          }) == "limit.depth");
    const EditedDocument graph(Bytes{}, message<"GraphProto">);
    CHECK(code_of([&] {
              return insert_copy(graph, graph.root(), field<"GraphProto.input">, *from,
                                 from.root());
          }) == "limit.depth");
    CHECK_FALSE((*graph).edits().any());
}

}  // namespace onnxmap::test
