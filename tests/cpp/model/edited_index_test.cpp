// What a document derives from its messages, after edits: indexes, names, children, segments.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "caught.hpp"
#include "edited_document.hpp"
#include "model/field_index.hpp"
#include "model/graph.hpp"
#include "model/tensor_path.hpp"
#include "model/unknown_fields.hpp"

namespace onnxmap::test {

namespace {

using onnx::field;
using onnx::Message;
using onnx::message;

const wire::FieldRow& kNode = field<"GraphProto.node">;

std::vector<const std::uint8_t*> places(const Message& parent, const wire::FieldRow& row) {
    std::vector<const std::uint8_t*> found;
    parent.for_each_field([&](const wire::Field& each, const wire::FieldRow* known) {
        if (known == &row) found.push_back(each.begin);
    });
    return found;
}

// Compares all that an index does with a walk over the message.
void check_index(const model::FieldIndex& index, const Message& parent) {
    for (const wire::FieldRow& row : parent.table().fields) {
        const auto expected = places(parent, row);
        REQUIRE(index.count(row) == expected.size());
        const auto last = index.last(row);
        REQUIRE(last.has_value() == !expected.empty());
        if (last) CHECK(last->begin == expected.back());
        model::FieldIndex::Cursor cursor(index, row);
        wire::Field found;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            CHECK(cursor.position() == i);
            REQUIRE(cursor.next(found));
            REQUIRE(found.begin == expected[i]);
        }
        CHECK_FALSE(cursor.next(found));
        for (std::size_t i = 0; i < expected.size(); i += 1 + i / 8) {
            REQUIRE(index.at(row, i).begin == expected[i]);
        }
        for (const std::size_t step : {1U, 2U, 15U, 400U}) {
            model::FieldIndex::Cursor skipping(index, row);
            for (std::size_t i = step - 1; i < expected.size(); i += step) {
                skipping.skip_to(i);
                REQUIRE(skipping.position() == i);
                REQUIRE(skipping.next(found));
                REQUIRE(found.begin == expected[i]);
            }
        }
        CHECK(code_of([&] { return index.at(row, expected.size()); }) == "edit.concurrent");
    }
}

Bytes nodes(std::size_t count) {
    Bytes bytes;
    for (std::size_t i = 0; i < count; ++i) append(bytes, blob(1, node("Op" + std::to_string(i))));
    return bytes;
}

std::string op_type(const Message& node) {
    return std::string(node.text(field<"NodeProto.op_type">));
}

}  // namespace

TEST_CASE("edited_index: the index of an edited message agrees with a walk") {
    std::mt19937_64 random(5);
    for (const std::size_t count : {0U, 3U, 600U, 3000U}) {
        const EditedDocument edited(
            model(join(blob(2, "g"), nodes(count), scalar(900, 1), blob(2, "last"))));
        for (int round = 0; round < 6; ++round) {
            check_index(*(*edited).index(edited.graph()), edited.graph());
            check_index(*(*edited).index(edited.root()), edited.root());
            const std::uint64_t now =
                edited.graph().pieces() ? places(edited.graph(), kNode).size() : count;
            const Message added =
                model::insert(*edited, edited.graph(), kNode, random() % (now + 1), std::nullopt);
            model::set_value(*edited, added, field<"NodeProto.op_type">,
                             new_value(blob(4, "Added")));
            check_index(*(*edited).index(added), added.current());
            if (round % 2 == 0) {
                const std::uint64_t gone[] = {random() % (now + 1)};
                model::erase(*edited, edited.graph(), kNode, gone);
            }
        }
    }
}

TEST_CASE("edited_index: an index that somebody holds stays what it was") {
    const EditedDocument edited(model(nodes(3000)));
    const auto before = (*edited).index(edited.graph());
    model::insert(*edited, edited.graph(), kNode, 0, std::nullopt);
    const auto between = (*edited).index(edited.graph());
    (*edited).editable().revert();
    const auto after = (*edited).index(edited.graph());
    CHECK(before->count(kNode) == 3000);
    CHECK(between->count(kNode) == 3001);
    CHECK(after == before);
    CHECK(op_type(edited.node(0)) == "Op0");
}

TEST_CASE("edited_index: large messages that were added have an index, too") {
    const EditedDocument from(model(nodes(4000)));
    const EditedDocument edited(model(blob(1, node("If", {blob(1, "g")}))));
    const Message attribute = edited.element(edited.node(0), field<"NodeProto.attribute">, 0);
    const Message branch = model::make_present(*edited, attribute, field<"AttributeProto.g">);
    model::merge_from(*edited, branch, {*from, from.graph()});
    check_index(*(*edited).index(branch), branch.current());
    const Message copy =
        model::insert(*edited, edited.graph(), kNode, 1, model::Original{*edited, edited.node(0)});
    const Message copied = edited.element(copy, field<"NodeProto.attribute">, 0)
                               .child(field<"AttributeProto.g">)
                               .value();
    REQUIRE(model::Document::is_large(copied));
    REQUIRE_FALSE(copied.edited());
    check_index(*(*edited).index(copied), copied);
    CHECK((*edited).index(copied) == (*edited).index(copied));
    CHECK(op_type(edited.element(copied, kNode, 3999)) == "Op3999");
}

TEST_CASE("edited_index: singular fields of large edited messages") {
    const EditedDocument edited(model(join(nodes(4000), blob(2, "g"))));
    REQUIRE(model::Document::is_large(edited.graph()));
    const auto name = [&] {
        const auto found = (*edited).find(edited.graph(), field<"GraphProto.name">);
        return found ? std::string(found->text()) : "absent";
    };
    CHECK(name() == "g");
    model::set_value(*edited, edited.graph(), field<"GraphProto.name">, new_value(blob(2, "h")));
    CHECK(name() == "h");
    model::clear(*edited, edited.graph(), field<"GraphProto.name">);
    CHECK(name() == "absent");
    model::clear(*edited, edited.root(), field<"ModelProto.graph">);
    CHECK_FALSE((*edited).child(edited.root(), field<"ModelProto.graph">));
    (*edited).editable().revert();
    CHECK(name() == "g");
}

TEST_CASE("edited_index: merged children of large messages") {
    const EditedDocument edited(
        join(blob(7, nodes(3000)), scalar(1, 8), blob(7, join(blob(2, "g"), nodes(2)))));
    REQUIRE(model::Document::is_large(edited.root()));
    CHECK((*edited).index(edited.graph())->count(kNode) == 3002);
    model::set_value(*edited, edited.root(), field<"ModelProto.ir_version">,
                     new_value(scalar(1, 9)));
    CHECK((*edited).index(edited.graph())->count(kNode) == 3002);
    const std::uint64_t gone[] = {0, 3001};
    model::erase(*edited, edited.graph(), kNode, gone);
    CHECK((*edited).index(edited.graph())->count(kNode) == 3000);
    CHECK(op_type(edited.node(2999)) == "Op0");
    (*edited).editable().revert();
    CHECK((*edited).index(edited.graph())->count(kNode) == 3002);
    CHECK(edited.graph().pieces()->occurrences().size() == 2);
}

TEST_CASE("edited_index: names follow the edits") {
    Bytes fields = nodes(3000);
    for (const char* name : {"a", "b", "c"}) append(fields, blob(5, raw_tensor(name, {1})));
    const EditedDocument edited(model(fields));
    const auto& row = field<"GraphProto.initializer">;
    const auto positions = [&] {
        std::string found;
        const auto names = (*edited).names(edited.graph(), row);
        for (const char* name : {"a", "b", "c", "d", "e"}) {
            const auto each = names->position(name);
            found += each ? std::to_string(*each) : "-";
        }
        return found;
    };
    CHECK(positions() == "012--");
    CHECK((*edited).names(edited.graph(), row) == (*edited).names(edited.graph(), row));
    const Message second = edited.element(edited.graph(), row, 1);
    model::set_value(*edited, second, field<"TensorProto.doc_string">, new_value(blob(12, "x")));
    const auto kept = (*edited).names(edited.graph(), row);
    CHECK(positions() == "012--");
    model::set_value(*edited, second, field<"TensorProto.name">, new_value(blob(8, "d")));
    CHECK(positions() == "0-21-");
    CHECK((*edited).names(edited.graph(), row) != kept);
    const std::uint64_t order[] = {2, 0, 1};
    model::reorder(*edited, edited.graph(), row, order);
    CHECK(positions() == "1-02-");
    const std::uint64_t gone[] = {0};
    model::erase(*edited, edited.graph(), row, gone);
    CHECK(positions() == "0--1-");
    const Message added = model::insert(*edited, edited.graph(), row, 0, std::nullopt);
    CHECK(positions() == "1--2-");
    model::set_value(*edited, added, field<"TensorProto.name">, new_value(blob(8, "e")));
    CHECK(positions() == "1--20");
    model::clear(*edited, edited.graph(), row);
    CHECK(positions() == "-----");
    (*edited).editable().revert();
    CHECK(positions() == "012--");
}

TEST_CASE("edited_index: unknown fields of edited messages") {
    const EditedDocument edited(
        model(join(scalar(900, 1), nodes(2), group(901), blob(2, "g"), scalar(902, 3))));
    model::insert(*edited, edited.graph(), kNode, 1, std::nullopt);
    model::set_value(*edited, edited.graph(), field<"GraphProto.name">, new_value(blob(2, "h")));
    const model::UnknownFields unknown(edited.graph());
    REQUIRE(unknown.count() == 3);
    model::UnknownFields::Cursor cursor(unknown);
    wire::Field found;
    for (std::uint32_t i = 0; i < 3; ++i) {
        CHECK(unknown.at(i).number == 900 + i);
        REQUIRE(cursor.next(found));
        CHECK(found.number == 900 + i);
    }
    CHECK_FALSE(cursor.next(found));
}

TEST_CASE("edited_index: segments follow the edits") {
    const auto piece = [](std::uint64_t begin, std::uint64_t end) {
        return join(scalar(1, 4), scalar(2, 2), blob(8, "w"), blob(9, Bytes(end - begin, 1)),
                    blob(3, join(scalar(1, begin), scalar(2, end))));
    };
    const EditedDocument edited(model(join(blob(5, piece(0, 2)), blob(5, piece(2, 4)))));
    const auto& row = field<"GraphProto.initializer">;
    const auto code = [&] {
        return code_of([&] {
            return (*edited).segments_of(edited.element(edited.graph(), row, 0)) != nullptr;
        });
    };
    CHECK(code() == "accepted");
    const Message second = edited.element(edited.graph(), row, 1);
    model::set_value(*edited, second.child(field<"TensorProto.segment">).value(),
                     field<"TensorProto.Segment.begin">, new_value(scalar(1, 1)));
    CHECK(code() == "tensor.segment");
    (*edited).editable().revert();
    CHECK(code() == "accepted");
    model::set_value(*edited, second, field<"TensorProto.name">, new_value(blob(8, "other")));
    CHECK(code() == "tensor.segment");
}

TEST_CASE("edited_index: the path of a tensor follows the edits") {
    const EditedDocument edited(model(
        join(nodes(2),
             blob(1, node("Constant", {attribute("value", 4, blob(5, raw_tensor("", {7})))})))));
    const Message attribute = edited.element(edited.node(2), field<"NodeProto.attribute">, 0);
    const Message tensor = attribute.child(field<"AttributeProto.t">).value();
    const auto path = [&] { return model::tensor_path(*edited, tensor.key()); };
    CHECK(path() == "graph.node[2].attribute[\"value\"].t");
    model::insert(*edited, edited.graph(), kNode, 0, std::nullopt);
    CHECK(path() == "graph.node[3].attribute[\"value\"].t");
    model::set_value(*edited, attribute, field<"AttributeProto.name">, new_value(blob(1, "v")));
    CHECK(path() == "graph.node[3].attribute[\"v\"].t");
    const std::uint64_t gone[] = {3};
    model::erase(*edited, edited.graph(), kNode, gone);
    CHECK(path().empty());
}

}  // namespace onnxmap::test
