// Messages that somebody holds while others edit the document, and edits of several steps.
#include "edit/message_edits.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "caught.hpp"
#include "edited_document.hpp"

namespace onnxmap::test {

namespace {

using edit::Handle;
using edit::SingularField;
using onnx::field;
using onnx::message;

Handle handle_of(const EditedDocument& edited) { return {edited.document, edited.root()}; }

Handle child_of(const Handle& parent, const wire::FieldRow& row) {
    return {parent.document, parent.document->child(parent.message(), row).value()};
}

Handle absent_child(const Handle& parent, const wire::FieldRow& row) {
    const onnx::Message empty(onnx::kSchema.message_of(row), ByteView{});
    return {parent.document, empty, std::make_shared<const SingularField>(parent, &row)};
}

Bytes flat(const Handle& handle) { return flat_bytes(*handle.document, handle.message()); }

Handle attribute(const std::string& name) {
    Handle made = edit::new_message(message<"AttributeProto">);
    const auto& row = field<"AttributeProto.name">;
    edit::change_message(made, model::set_value, row, model::text_value(row, name));
    return made;
}

std::vector<std::string> names_in(const Handle& node) {
    std::vector<std::string> names;
    const auto& row = field<"NodeProto.attribute">;
    const onnx::Message now = node.message();
    now.for_each_value(row, [&](const wire::Field& value) {
        names.emplace_back(now.inner(row, value).text(field<"AttributeProto.name">));
    });
    return names;
}

}  // namespace

TEST_CASE("message_edits: the first edit puts an absent message into its absent parents") {
    const EditedDocument edited({}, message<"ModelProto">);
    const Handle graph = absent_child(handle_of(edited), field<"ModelProto.graph">);
    CHECK(flat(graph).empty());
    CHECK(edited.flat().empty());
    const auto& name = field<"GraphProto.name">;
    edit::change_message(graph, model::set_value, name, model::text_value(name, "g"));
    CHECK(edited.flat() == blob(7, blob(2, "g")));
    // Another handle of the same place is of the same message.
    CHECK(edit::is_same(graph, child_of(handle_of(edited), field<"ModelProto.graph">)));
}

TEST_CASE("message_edits: a handle of an absent message denotes its field") {
    const EditedDocument edited({}, message<"ModelProto">);
    const Handle graph = absent_child(handle_of(edited), field<"ModelProto.graph">);
    edit::make_present(graph);
    const Handle present = child_of(handle_of(edited), field<"ModelProto.graph">);
    edit::clear(handle_of(edited), field<"ModelProto.graph">);
    CHECK(code_of([&] { edit::make_present(present); }) == "edit.removed");
    CHECK(edited.flat().empty());
    edit::make_present(graph);
    CHECK(edited.flat() == blob(7, Bytes{}));
}

TEST_CASE("message_edits: absent messages in absent messages are not nested beyond the limit") {
    model::LoadOptions options;
    options.limits.depth = 3;
    const EditedDocument edited({}, message<"AttributeProto">, options);
    Handle made = handle_of(edited);
    CHECK(code_of([&] {
              for (int i = 0; i < 3; ++i) {
                  made = absent_child(made, field<"AttributeProto.g">);
                  made = absent_child(made, field<"GraphProto.node">);
              }
          }) == "limit.depth");
}

TEST_CASE(
    "message_edits: elements are copied and removed in one step, also those of the same list") {
    const Handle node = edit::new_message(message<"NodeProto">);
    const auto& row = field<"NodeProto.attribute">;
    edit::replace_all(node, row, std::vector{attribute("a"), attribute("b"), attribute("c")});
    CHECK(names_in(node) == std::vector<std::string>{"a", "b", "c"});
    const onnx::Message now = node.message();
    const Handle last{node.document, now.inner(row, node.document->index(now)->at(row, 2))};
    const edit::NewElement added{0, last};
    const std::uint64_t gone = 2;
    edit::splice(node, row, {&added, 1}, {&gone, 1});
    CHECK(names_in(node) == std::vector<std::string>{"c", "a", "b"});
    // The removed message can be read, and copied.
    CHECK(last.message().text(field<"AttributeProto.name">) == "c");
    CHECK(code_of([&] { edit::make_present(last); }) == "edit.removed");
    edit::replace_all(node, row, {&last, 1});
    CHECK(names_in(node) == std::vector<std::string>{"c"});
}

TEST_CASE("message_edits: a message is replaced by a part of itself, and added to itself") {
    // An attribute whose graph has a node with an attribute.
    const Bytes part = join(blob(1, "part"), scalar(3, 7));
    const EditedDocument edited(join(blob(1, "whole"), blob(6, blob(1, blob(5, part)))),
                                message<"AttributeProto">);
    const Handle whole = handle_of(edited);
    const Handle graph = child_of(whole, field<"AttributeProto.g">);
    const auto first = [](const Handle& parent, const wire::FieldRow& row) {
        const onnx::Message now = parent.message();
        return Handle{parent.document, now.inner(row, parent.document->index(now)->at(row, 0))};
    };
    const Handle node = first(graph, field<"GraphProto.node">);
    const Handle inner = first(node, field<"NodeProto.attribute">);
    const Bytes before = edited.flat();
    edit::copy(whole, whole);
    CHECK(edited.flat() == before);
    edit::copy(whole, inner);
    CHECK(edited.flat() == part);
    CHECK(flat(inner) == part);
    edit::merge(whole, whole);
    CHECK(edited.flat() == part);
}

TEST_CASE("message_edits: a tensor gets other values, and keeps its name") {
    const EditedDocument tensor(join(scalar(2, 1), blob(8, "w"), blob(9, "old!"), blob(12, "doc")),
                                message<"TensorProto">);
    const EditedDocument values(join(scalar(1, 2), scalar(2, 6), blob(8, "v"), blob(9, "new")),
                                message<"TensorProto">);
    const Handle made = edit::with_values_of(handle_of(tensor), handle_of(values));
    const onnx::Message now = made.message();
    CHECK(now.text(field<"TensorProto.name">) == "w");
    CHECK(now.text(field<"TensorProto.doc_string">) == "doc");
    CHECK(now.text(field<"TensorProto.raw_data">) == "new");
    CHECK(numbers_in(now, field<"TensorProto.dims">) == std::vector<std::uint64_t>{2});
}

TEST_CASE("message_edits: what cannot be copied fails before the first step") {
    model::LoadOptions options;
    options.limits.depth = 3;
    const EditedDocument edited(blob(1, "old"), message<"AttributeProto">, options);
    // Graphs in graphs, deeper than the document allows.
    Bytes deep = blob(1, "inner");
    for (int i = 0; i < 3; ++i) deep = blob(6, blob(1, blob(5, deep)));
    const EditedDocument other(deep, message<"AttributeProto">);
    const Handle whole = handle_of(edited);
    CHECK(code_of([&] { edit::copy(whole, handle_of(other)); }) == "limit.depth");
    CHECK(code_of([&] { edit::merge(whole, handle_of(other)); }) == "limit.depth");
    CHECK(edited.flat() == blob(1, "old"));
    CHECK(code_of([&] {
              static_cast<void>(edit::new_document(message<"NodeProto">,
                                                   std::make_shared<MemorySource>(Bytes{0x0a})));
          }) == "wire.truncated");
}

}  // namespace onnxmap::test
