// Edits of the fields of one message, as protobuf defines them. The flat form shows each byte.
#include "model/edit_message.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "caught.hpp"
#include "edited_document.hpp"
#include "model/copy_message.hpp"

namespace onnxmap::test {

namespace {

using onnx::field;
using onnx::Message;
using onnx::message;

EditedDocument tensor_document(const Bytes& bytes) {
    return EditedDocument(bytes, message<"TensorProto">);
}

std::vector<model::NewValue> values(const std::vector<Bytes>& fields) {
    std::vector<model::NewValue> made;
    for (const Bytes& each : fields) made.push_back(new_value(each));
    return made;
}

}  // namespace

TEST_CASE("edit_message: a value is replaced at its last occurrence, others stay as they are") {
    const Bytes odd = join(tag(12, WireType::length_delimited, 3), varint(1, 4), from_text("d"));
    const Bytes unknown = join(group(900, scalar(1, 1)), fixed64(901, 5), scalar(8, 3));
    const EditedDocument edited =
        tensor_document(join(blob(8, "a"), odd, blob(8, "b"), unknown, scalar(2, 1)));
    model::set_value(*edited, edited.root(), field<"TensorProto.name">, new_value(blob(8, "c")));
    CHECK(edited.flat() == join(odd, blob(8, "c"), unknown, scalar(2, 1)));
    CHECK(edited.root().text(field<"TensorProto.name">) == "c");
    // An absent field comes last.
    model::set_value(*edited, edited.root(), field<"TensorProto.raw_data">,
                     new_value(blob(9, "r")));
    CHECK(edited.flat() == join(odd, blob(8, "c"), unknown, scalar(2, 1), blob(9, "r")));
}

TEST_CASE("edit_message: a value that the enum does not list stays an unknown field") {
    const EditedDocument edited =
        tensor_document(join(scalar(14, 7), scalar(14, 1), scalar(14, 9)));
    model::set_value(*edited, edited.root(), field<"TensorProto.data_location">,
                     new_value(scalar(14, 0)));
    CHECK(edited.flat() == join(scalar(14, 7), scalar(14, 0), scalar(14, 9)));
    CHECK(edited.root().find(field<"TensorProto.data_location">)->int32() == 0);
    model::clear(*edited, edited.root(), field<"TensorProto.data_location">);
    CHECK(edited.flat() == join(scalar(14, 7), scalar(14, 9)));
}

TEST_CASE("edit_message: content stays in its source") {
    const EditedDocument edited = tensor_document(join(blob(9, "old"), blob(8, "n")));
    const Bytes content(5000, 3);
    const model::NewValue value = held_value(content);
    model::set_value(*edited, edited.root(), field<"TensorProto.raw_data">, value);
    const auto raw = edited.root().find(field<"TensorProto.raw_data">);
    CHECK(raw->bytes.data() == value.content.data());
    CHECK((*edited).source_of(raw->bytes) == value.source);
    CHECK(edited.flat() == join(blob(9, content), blob(8, "n")));
    CHECK(edited.root().nbytes() == edited.flat().size());
    model::set_value(*edited, edited.root(), field<"TensorProto.raw_data">,
                     new_value(blob(9, "new")));
    CHECK(value.source.use_count() == 1);
    model::set_value(*edited, edited.root(), field<"TensorProto.raw_data">, held_value(Bytes{}));
    CHECK(edited.flat() == join(blob(9, Bytes{}), blob(8, "n")));
    model::set_value(*edited, edited.root(), field<"TensorProto.raw_data">,
                     new_value(blob(9, "new")));
    CHECK(edited.flat() == join(blob(9, "new"), blob(8, "n")));
}

TEST_CASE("edit_message: all values of a repeated field are replaced where the first one was") {
    const EditedDocument edited =
        tensor_document(join(scalar(2, 7), scalar(1, 2), blob(8, "n"), packed(1, {3, 4})));
    const auto& dims = field<"TensorProto.dims">;
    model::set_values(*edited, edited.root(), dims, values({packed(1, {5, 6, 7})}));
    CHECK(edited.flat() == join(scalar(2, 7), packed(1, {5, 6, 7}), blob(8, "n")));
    CHECK(numbers_in(edited.root(), dims) == std::vector<std::uint64_t>{5, 6, 7});
    model::set_values(*edited, edited.root(), dims, {});
    CHECK(edited.flat() == join(scalar(2, 7), blob(8, "n")));
    model::set_values(*edited, edited.root(), dims, values({scalar(1, 1), scalar(1, 2)}));
    CHECK(edited.flat() == join(scalar(2, 7), blob(8, "n"), scalar(1, 1), scalar(1, 2)));
}

TEST_CASE("edit_message: some texts of a list are replaced, the others keep their bytes") {
    const auto& inputs = field<"NodeProto.input">;
    const Bytes odd = join(tag(1, WireType::length_delimited, 2), varint(1, 2), from_text("b"));
    for (std::uint64_t first = 0; first <= 3; ++first) {
        for (std::uint64_t count = 0; first + count <= 3; ++count) {
            for (const std::size_t more : {0U, 1U, 2U}) {
                const EditedDocument edited(
                    join(blob(1, "a"), blob(4, "Op"), odd, blob(2, "out"), blob(1, "c")),
                    message<"NodeProto">);
                std::vector<Bytes> added;
                std::vector<std::string> expected = {"a", "b", "c"};
                for (std::size_t i = 0; i < more; ++i) added.push_back(blob(1, std::to_string(i)));
                const auto at = expected.begin() + static_cast<std::ptrdiff_t>(first);
                expected.erase(at, at + static_cast<std::ptrdiff_t>(count));
                for (std::size_t i = 0; i < more; ++i) {
                    expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(first + i),
                                    std::to_string(i));
                }
                model::splice_values(*edited, edited.root(), inputs, first, count, values(added));
                CAPTURE(first);
                CAPTURE(count);
                CHECK(texts_in(edited.root(), inputs) == expected);
                CHECK(edited.root().text(field<"NodeProto.op_type">) == "Op");
                const bool keeps_b = first > 1 || first + count <= 1;
                const Bytes flat = edited.flat();
                CHECK((std::search(flat.begin(), flat.end(), odd.begin(), odd.end()) !=
                       flat.end()) == keeps_b);
            }
        }
    }
}

TEST_CASE("edit_message: a small packed run grows, and everything else gets a new field") {
    const auto& row = field<"TensorProto.int64_data">;
    const Bytes name = blob(8, "n");
    const Bytes more = packed(7, {300, 1});
    const auto appended = [&](const Bytes& before) {
        const EditedDocument edited = tensor_document(before);
        model::append_values(*edited, edited.root(), row, values({more}));
        return edited.flat();
    };
    CHECK(appended(join(packed(7, {7}), name)) == join(packed(7, {7, 300, 1}), name));
    CHECK(appended(join(packed(7, {}), name)) == join(more, name));
    CHECK(appended(name) == join(name, more));
    CHECK(appended(join(scalar(7, 7), name)) == join(scalar(7, 7), more, name));
    CHECK(appended(join(packed(7, {7}), name, packed(7, {8}))) ==
          join(packed(7, {7}), name, packed(7, {8}), more));
    const Bytes large = packed(7, std::vector<std::uint64_t>(5000, 1));
    CHECK(appended(large) == join(large, more));

    const EditedDocument edited = tensor_document(packed(7, {7}));
    model::append_values(*edited, edited.root(), row, {});
    CHECK_FALSE((*edited).edits().any());
    {
        const EditedDocument one = tensor_document(packed(7, {7}));
        model::append_values(*one, one.root(), row, values({scalar(7, 8)}));
        CHECK(numbers_in(one.root(), row) == std::vector<std::uint64_t>{7, 8});
    }
    model::append_values(*edited, edited.root(), row, values({scalar(7, 8), scalar(7, 9)}));
    CHECK(numbers_in(edited.root(), row) == std::vector<std::uint64_t>{7, 8, 9});
    // Each of these is a field of its own.
    model::append_values(*edited, edited.root(), field<"TensorProto.dims">, values({scalar(1, 3)}));
    CHECK(edited.flat() == join(packed(7, {7}), scalar(7, 8), scalar(7, 9), scalar(1, 3)));
}

TEST_CASE("edit_message: clearing removes all occurrences, and unknown fields stay") {
    const EditedDocument edited =
        tensor_document(join(blob(8, "a"), scalar(8, 1), scalar(2, 1), blob(8, "b")));
    model::clear(*edited, edited.root(), field<"TensorProto.doc_string">);
    CHECK_FALSE((*edited).edits().any());
    model::clear(*edited, edited.root(), field<"TensorProto.name">);
    CHECK(edited.flat() == join(scalar(8, 1), scalar(2, 1)));
    CHECK_FALSE(edited.root().has(field<"TensorProto.name">));
    model::clear_all(*edited, edited.root());
    CHECK(edited.flat().empty());
    CHECK(edited.root().edited());
    CHECK(edited.root().nbytes() == 0);
    model::set_value(*edited, edited.root(), field<"TensorProto.name">, new_value(blob(8, "c")));
    CHECK(edited.flat() == blob(8, "c"));
}

TEST_CASE("edit_message: a value clears the other members of its oneof") {
    const auto& value = field<"TensorShapeProto.Dimension.dim_value">;
    const auto& param = field<"TensorShapeProto.Dimension.dim_param">;
    const Bytes bytes = join(scalar(1, 5), blob(2, "N"), scalar(1, 6), blob(2, "M"), blob(3, "d"));
    const auto& table = message<"TensorShapeProto.Dimension">;
    {
        const EditedDocument edited(bytes, table);
        model::set_value(*edited, edited.root(), value, new_value(scalar(1, 7)));
        CHECK(edited.flat() == join(scalar(1, 7), blob(3, "d")));
    }
    {
        const EditedDocument edited(bytes, table);
        model::set_value(*edited, edited.root(), param, new_value(blob(2, "K")));
        CHECK(edited.flat() == join(blob(2, "K"), blob(3, "d")));
    }
    {
        // Without its last member, an earlier one would be set.
        const EditedDocument edited(bytes, table);
        model::clear(*edited, edited.root(), value);  // not set
        CHECK_FALSE((*edited).edits().any());
        model::clear(*edited, edited.root(), param);
        CHECK(edited.flat() == blob(3, "d"));
        CHECK(edited.root().which("value") == nullptr);
    }
}

TEST_CASE("edit_message: messages are added and removed in one step") {
    const auto& row = field<"GraphProto.node">;
    const EditedDocument others(model(graph_with({node("X"), node("Y")})));
    const std::vector<std::string> names{"A", "B", "C", "D"};
    for (unsigned removed = 0; removed < 16; ++removed) {
        for (std::uint64_t first = 0; first <= names.size(); ++first) {
            for (std::uint64_t second = first; second <= names.size(); ++second) {
                const EditedDocument edited(
                    model(graph_with({node("A"), node("B"), node("C"), node("D")})));
                std::vector<Message> before;
                std::vector<std::uint64_t> gone;
                std::vector<std::string> expected;
                for (std::uint64_t i = 0; i <= names.size(); ++i) {
                    if (i == first) expected.emplace_back("X");
                    if (i == second) expected.emplace_back("Y");
                    if (i == names.size()) break;
                    before.push_back(edited.node(i));
                    const bool is_gone = (removed >> i & 1) != 0;
                    is_gone ? gone.push_back(i) : expected.push_back(names[i]);
                }
                const std::vector<model::Insertion> added{{first, {*others, others.node(0)}},
                                                          {second, {*others, others.node(1)}}};
                const auto copies =
                    model::splice_messages(*edited, edited.graph(), row, added, gone);
                std::vector<std::string> found;
                edited.graph().for_each_value(row, [&](const wire::Field& each) {
                    found.emplace_back(
                        edited.graph().inner(row, each).text(field<"NodeProto.op_type">));
                });
                REQUIRE(found == expected);
                REQUIRE(copies.size() == 2);
                CHECK(copies[1].text(field<"NodeProto.op_type">) == "Y");
                for (std::uint64_t i = 0; i < names.size(); ++i) {
                    const bool is_gone = (removed >> i & 1) != 0;
                    REQUIRE((*edited).edits().is_removed(before[i]) == is_gone);
                    CHECK(before[i].current().text(field<"NodeProto.op_type">) == names[i]);
                    if (is_gone && i == first && first != second) {
                        CHECK((*edited).edits().first_in_place(copies[0]).key() == before[i].key());
                    }
                }
            }
        }
    }
}

TEST_CASE("edit_message: what is in a removed copy ends with the last who keeps it alive") {
    const auto& row = field<"GraphProto.initializer">;
    const Bytes content(5000, 3);
    const EditedDocument other(blob(8, "w"), message<"TensorProto">);
    const model::NewValue value = held_value(content);
    model::set_value(*other, other.root(), field<"TensorProto.raw_data">, value);
    const EditedDocument edited(model(graph_with({})));
    const std::vector<model::Insertion> added{{0, {*other, other.root()}}};
    const Message copy =
        model::splice_messages(*edited, edited.graph(), row, added, {}).front().current();
    const Message known(copy.table(), copy.loaded(), copy.changes());
    CHECK((*edited).keep_alive(edited.graph()) == nullptr);  // it was loaded
    auto kept = (*edited).keep_alive(known);
    REQUIRE(kept != nullptr);
    const std::vector<std::uint64_t> gone{0};
    model::splice_messages(*edited, edited.graph(), row, {}, gone);
    CHECK(known.current().find(field<"TensorProto.raw_data">)->bytes.size() == content.size());
    CHECK(edited.flat(known).size() > content.size());
    const auto also = (*edited).keep_alive(known);  // of an object that is made after the removal
    kept.reset();
    CHECK(known.current().find(field<"TensorProto.raw_data">)->bytes.size() == content.size());
    (*edited).editable().revert();
    CHECK(known.current().find(field<"TensorProto.raw_data">)->bytes.size() == content.size());
}

TEST_CASE("edit_message: nobody reads what was in a removed copy that nobody kept alive") {
    const auto& row = field<"GraphProto.initializer">;
    const EditedDocument edited(model(graph_with({})));
    const Message copy = model::insert(*edited, edited.graph(), row, 0, std::nullopt);
    model::set_value(*edited, copy, field<"TensorProto.name">, new_value(blob(8, "w")));
    const std::uint64_t first[] = {0};
    model::erase(*edited, edited.graph(), row, first);
    const Message again(copy.table(), copy.loaded());
    CHECK(code_of([&] { std::ignore = again.with((*edited).edits()); }) == "edit.concurrent");
}

TEST_CASE("edit_message: a message that is made present clears the other members of its oneof") {
    const auto& tensor = field<"TypeProto.tensor_type">;
    const auto& sequence = field<"TypeProto.sequence_type">;
    const Bytes one = blob(1, scalar(1, 1));
    const Bytes two = blob(4, blob(1, one));
    const EditedDocument edited(join(one, two, one, blob(6, "d")), message<"TypeProto">);
    const Message old = edited.child(tensor);
    CHECK(model::make_present(*edited, edited.root(), tensor).key() == old.key());
    CHECK_FALSE((*edited).edits().any());
    model::set_value(*edited, edited.root(), field<"TypeProto.denotation">,
                     new_value(blob(6, "d")));
    const Message made = model::make_present(*edited, edited.root(), sequence);
    CHECK(edited.flat() == join(blob(6, "d"), blob(4, Bytes{})));
    CHECK((*edited).edits().is_removed(old));
    CHECK(edited.root().which("value") == &sequence);
    static_cast<void>(model::make_present(*edited, made, field<"TypeProto.Sequence.elem_type">));
    CHECK(edited.flat() == join(blob(6, "d"), blob(4, blob(1, Bytes{}))));
}

TEST_CASE("edit_message: a chain of absent messages is made present") {
    const EditedDocument edited(scalar(1, 8));
    const Message graph = model::make_present(*edited, edited.root(), field<"ModelProto.graph">);
    const Message input = model::insert(*edited, graph, field<"GraphProto.input">, 0, std::nullopt);
    const Message type = model::make_present(*edited, input, field<"ValueInfoProto.type">);
    const Message tensor = model::make_present(*edited, type, field<"TypeProto.tensor_type">);
    model::set_value(*edited, tensor, field<"TypeProto.Tensor.elem_type">, new_value(scalar(1, 1)));
    CHECK(edited.flat() == join(scalar(1, 8), blob(7, blob(11, blob(2, blob(1, scalar(1, 1)))))));
    const auto held = edited.document->keep_alive(tensor);
    model::clear(*edited, edited.root(), field<"ModelProto.graph">);
    CHECK(code_of([&] {
              model::clear(*edited, tensor.current(), field<"TypeProto.Tensor.elem_type">);
              return 0;
          }) == "edit.removed");
}

TEST_CASE("edit_message: messages are inserted, erased and reordered among other fields") {
    const auto& row = field<"GraphProto.node">;
    const Bytes a = blob(1, node("A"));
    const Bytes b =
        join(tag(1, WireType::length_delimited), varint(node("B").size(), 4), node("B"));
    const Bytes c = blob(1, node("C"));
    const Bytes name = blob(2, "g");
    const Bytes unknown = scalar(900, 1);
    const Bytes added = blob(1, Bytes{});
    const EditedDocument edited(join(a, name, b, unknown, c, scalar(1, 3)), message<"GraphProto">);
    const auto insert = [&](std::uint64_t i) {
        return model::insert(*edited, edited.root(), row, i, std::nullopt);
    };
    insert(0);
    CHECK(edited.flat() == join(added, a, name, b, unknown, c, scalar(1, 3)));
    insert(2);
    CHECK(edited.flat() == join(added, a, name, added, b, unknown, c, scalar(1, 3)));
    insert(UINT64_MAX);
    CHECK(edited.flat() == join(added, a, name, added, b, unknown, c, added, scalar(1, 3)));
    const std::uint64_t order[] = {4, 3, 1, 0, 2, 5};
    model::reorder(*edited, edited.root(), row, order);
    CHECK(edited.flat() == join(c, b, a, added, added, added, name, unknown, scalar(1, 3)));
    const std::uint64_t gone[] = {1, 3, 4, 5};
    model::erase(*edited, edited.root(), row, gone);
    CHECK(edited.flat() == join(c, a, name, unknown, scalar(1, 3)));
    // As a thread does that counted before another one erased.
    CHECK(code_of([&] {
              model::erase(*edited, edited.root(), row, gone);
              return 0;
          }) == "edit.concurrent");
    CHECK(code_of([&] {
              model::reorder(*edited, edited.root(), row, order);
              return 0;
          }) == "edit.concurrent");
    CHECK(edited.flat() == join(c, a, name, unknown, scalar(1, 3)));
}

TEST_CASE("edit_message: an edit of a merged message makes it one, at two levels") {
    const Bytes first = blob(1, join(packed(1, {2}), blob(8, "a")));
    const Bytes second = join(blob(1, scalar(1, 3)), packed(3, {9}), blob(1, blob(8, "b")));
    const EditedDocument edited(
        join(blob(1, "attr"), blob(22, first), scalar(20, 11), blob(22, Bytes{}), blob(22, second)),
        message<"AttributeProto">);
    const Message sparse = edited.child(field<"AttributeProto.sparse_tensor">);
    const Message tensor = sparse.child(field<"SparseTensorProto.values">).value();
    REQUIRE(tensor.pieces()->occurrences().size() == 3);
    model::set_value(*edited, tensor, field<"TensorProto.doc_string">, new_value(blob(12, "d")));
    const Bytes merged =
        join(packed(1, {2}), blob(8, "a"), scalar(1, 3), blob(8, "b"), blob(12, "d"));
    CHECK(edited.flat() == join(blob(1, "attr"), blob(22, join(blob(1, merged), packed(3, {9}))),
                                scalar(20, 11), blob(22, Bytes{})));
    model::set_value(*edited, tensor.current(), field<"TensorProto.name">, new_value(blob(8, "c")));
    model::append_values(*edited, edited.child(field<"AttributeProto.sparse_tensor">),
                         field<"SparseTensorProto.dims">, values({packed(3, {10})}));
    const EditedDocument again(edited.flat(), message<"AttributeProto">);
    const Message read = again.child(field<"AttributeProto.sparse_tensor">);
    CHECK(numbers_in(read, field<"SparseTensorProto.dims">) == std::vector<std::uint64_t>{9, 10});
    const Message read_tensor = read.child(field<"SparseTensorProto.values">).value();
    CHECK(read_tensor.text(field<"TensorProto.name">) == "c");
    CHECK(numbers_in(read_tensor, field<"TensorProto.dims">) == std::vector<std::uint64_t>{2, 3});
}

TEST_CASE("edit_message: merging adds the fields of another message") {
    const Bytes from =
        join(scalar(2, 7), packed(1, {3}), blob(6, "s"), scalar(900, 1), blob(8, "b"), blob(8, "c"),
             blob(3, scalar(2, 5)), blob(13, string_entry("k", "v")));
    const EditedDocument edited =
        tensor_document(join(blob(8, "a"), packed(1, {2}), scalar(901, 1), blob(3, scalar(1, 4))));
    const EditedDocument other = tensor_document(from);
    model::merge_from(*edited, edited.root(), {*other, other.root()});
    CHECK(edited.flat() == join(packed(1, {2}), packed(1, {3}), scalar(901, 1),
                                blob(3, join(scalar(1, 4), scalar(2, 5))), scalar(2, 7),
                                blob(8, "c"), blob(6, "s"), blob(13, string_entry("k", "v")),
                                scalar(900, 1)));
    // With itself: its lists are doubled.
    model::merge_from(*edited, edited.root(), {*edited, edited.root()});
    CHECK(numbers_in(edited.root(), field<"TensorProto.dims">) ==
          std::vector<std::uint64_t>{2, 3, 2, 3});
    CHECK(texts_in(edited.root(), field<"TensorProto.string_data">) ==
          std::vector<std::string>{"s", "s"});
    CHECK(edited.root().text(field<"TensorProto.name">) == "c");
}

TEST_CASE("edit_message: merging a member of a oneof clears the others") {
    const EditedDocument edited(join(blob(1, scalar(1, 1)), blob(6, "d")), message<"TypeProto">);
    const EditedDocument other(blob(4, blob(1, blob(1, scalar(1, 7)))), message<"TypeProto">);
    const Message old = edited.child(field<"TypeProto.tensor_type">);
    model::merge_from(*edited, edited.root(), {*other, other.root()});
    CHECK(edited.flat() == join(blob(6, "d"), other.flat()));
    CHECK((*edited).edits().is_removed(old));
}

TEST_CASE("edit_message: fields are kept in little memory") {
    // A graph of empty nodes has the most fields for its size.
    const EditedDocument edited(repeat(200'000, blob(1, Bytes{})), message<"GraphProto">);
    const auto fields = model::fields_of(edited.root());
    CHECK(fields->count(field<"GraphProto.node">) == 200'000);
    CHECK(fields->nbytes() == 400'000);
}

}  // namespace onnxmap::test
