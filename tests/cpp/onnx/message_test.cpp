#include "onnx/message.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "caught.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

using onnx::field;
using onnx::Message;
using onnx::message;

namespace {

std::vector<std::uint64_t> values_of(const Message& parent, const wire::FieldRow& row) {
    std::vector<std::uint64_t> values;
    parent.for_each_value(row, [&](const wire::Field& value) { values.push_back(value.value); });
    return values;
}

std::vector<std::string> texts_of(const Message& parent, const wire::FieldRow& row) {
    std::vector<std::string> texts;
    parent.for_each_value(row, [&](const wire::Field& value) { texts.emplace_back(value.text()); });
    return texts;
}

}  // namespace

TEST_CASE("message: the last of several singular values counts") {
    const Bytes bytes = join(scalar(1, 1), blob(2, "a"), scalar(1, 2), blob(2, "b"), blob(2, ""));
    const Message model_message(message<"ModelProto">, bytes);
    CHECK(model_message.int64(field<"ModelProto.ir_version">) == 2);
    CHECK(model_message.has(field<"ModelProto.producer_name">));
    CHECK(model_message.text(field<"ModelProto.producer_name">).empty());
}

TEST_CASE("message: an absent value and an explicit zero differ") {
    const Bytes zero = scalar(1, 0);
    CHECK(Message(message<"ModelProto">, zero).has(field<"ModelProto.ir_version">));
    CHECK_FALSE(Message(message<"ModelProto">, ByteView{}).has(field<"ModelProto.ir_version">));
    CHECK(Message(message<"ModelProto">, ByteView{}).int64(field<"ModelProto.ir_version">) == 0);
}

TEST_CASE("message: a known field with another wire type is unknown") {
    const Bytes bytes = join(blob(1, "8"), fixed64(1, 8), fixed32(1, 8), scalar(2, 1));
    const Message parent(message<"ModelProto">, bytes);
    CHECK_FALSE(parent.has(field<"ModelProto.ir_version">));
    CHECK_FALSE(parent.has(field<"ModelProto.producer_name">));
    int unknown = 0;
    parent.for_each_field(
        [&](const wire::Field&, const wire::FieldRow* row) { unknown += row == nullptr; });
    CHECK(unknown == 4);
}

TEST_CASE("message: packed, unpacked and mixed values make one list in file order") {
    const Bytes bytes = join(scalar(1, 2), packed(1, {3, 4}), blob(1, Bytes{}), scalar(1, 5),
                             fixed64(1, 9), scalar(1, UINT64_MAX));
    const Message tensor(message<"TensorProto">, bytes);
    CHECK(values_of(tensor, field<"TensorProto.dims">) ==
          std::vector<std::uint64_t>{2, 3, 4, 5, UINT64_MAX});

    const Bytes floats = join(blob(4, from_hex("0000803f00000040")), fixed32(4, 0x40400000));
    CHECK(values_of(Message(message<"TensorProto">, floats), field<"TensorProto.float_data">) ==
          std::vector<std::uint64_t>{0x3f800000, 0x40000000, 0x40400000});

    const Bytes doubles =
        join(fixed64(10, 1), blob(10, join(little_endian(2, 8), little_endian(3, 8))));
    CHECK(values_of(Message(message<"TensorProto">, doubles), field<"TensorProto.double_data">) ==
          std::vector<std::uint64_t>{1, 2, 3});

    const Bytes strings = join(blob(6, "a"), blob(6, ""), blob(6, from_hex("fffe")));
    CHECK(texts_of(Message(message<"TensorProto">, strings), field<"TensorProto.string_data">) ==
          std::vector<std::string>{"a", "", "\xff\xfe"});
}

TEST_CASE("message: NaN payloads and negative zero keep their bits") {
    const Bytes bytes = join(fixed32(2, 0x7f800001), fixed32(2, 0x80000000));
    std::vector<std::uint64_t> seen;
    Message(message<"AttributeProto">, bytes)
        .for_each_field([&](const wire::Field& value, const wire::FieldRow* row) {
            REQUIRE(row == &field<"AttributeProto.f">);
            seen.push_back(value.value);
        });
    CHECK(seen == std::vector<std::uint64_t>{0x7f800001, 0x80000000});
}

TEST_CASE("message: enum values that are not listed are unknown fields") {
    const auto& location = field<"TensorProto.data_location">;
    const auto stored = [&](const Bytes& bytes) {
        const auto found = Message(message<"TensorProto">, bytes).find(location);
        return found ? found->int32() : -1;
    };
    CHECK(stored(scalar(14, 7)) == -1);
    CHECK(stored(join(scalar(14, 1), scalar(14, 7))) == 1);
    CHECK(stored(join(scalar(14, 7), scalar(14, 1))) == 1);
    CHECK(stored(scalar(14, (1ULL << 32) + 1)) == 1);
    const Bytes type = join(blob(1, "a"), scalar(20, 99));
    CHECK_FALSE(Message(message<"AttributeProto">, type).has(field<"AttributeProto.type">));
}

TEST_CASE("message: singular messages that repeat are merged") {
    const Bytes bytes =
        join(blob(7, Bytes{}), blob(7, join(blob(2, "a"), blob(5, blob(8, "x")))), scalar(1, 8),
             blob(7, join(blob(5, blob(8, "y")), blob(2, "b"))), blob(7, Bytes{}));
    const auto graph = Message(message<"ModelProto">, bytes).child(field<"ModelProto.graph">);
    REQUIRE(graph);
    CHECK(&graph->table() == &message<"GraphProto">);
    const auto parts = graph->pieces()->occurrences();
    CHECK(parts.size() == 2);
    CHECK(graph->text(field<"GraphProto.name">) == "b");
    std::vector<std::string> names;
    graph->for_each_value(field<"GraphProto.initializer">, [&](const wire::Field& value) {
        names.emplace_back(
            Message(message<"TensorProto">, value.bytes).text(field<"TensorProto.name">));
    });
    CHECK(names == std::vector<std::string>{"x", "y"});
    CHECK(graph->nbytes() == parts[0].size() + parts[1].size());
}

TEST_CASE("message: messages within merged messages are merged, too") {
    const Bytes first = blob(1, packed(1, {2}));
    const Bytes second = join(blob(1, scalar(1, 3)), blob(1, blob(8, "n")));
    const Bytes bytes = join(blob(22, first), blob(22, second));
    const auto sparse =
        Message(message<"AttributeProto">, bytes).child(field<"AttributeProto.sparse_tensor">);
    REQUIRE(sparse);
    const auto values = sparse->child(field<"SparseTensorProto.values">);
    REQUIRE(values);
    CHECK(values->pieces()->occurrences().size() == 3);
    CHECK(values->text(field<"TensorProto.name">) == "n");
    CHECK(values_of(*values, field<"TensorProto.dims">) == std::vector<std::uint64_t>{2, 3});
}

TEST_CASE("message: an empty message is present") {
    const Bytes bytes = blob(7, Bytes{});
    const auto graph = Message(message<"ModelProto">, bytes).child(field<"ModelProto.graph">);
    REQUIRE(graph);
    CHECK(graph->nbytes() == 0);
    CHECK_FALSE(Message(message<"ModelProto">, ByteView{}).child(field<"ModelProto.graph">));
    CHECK(Message(message<"GraphProto">, std::vector<ByteView>{}).nbytes() == 0);
}

TEST_CASE("message: the last member of a oneof clears the others") {
    const auto& tensor = field<"TypeProto.tensor_type">;
    const auto& sequence = field<"TypeProto.sequence_type">;
    const auto& elem_type = field<"TypeProto.Tensor.elem_type">;
    const Bytes float_tensor = blob(1, scalar(1, 1));
    const Bytes shaped_tensor = blob(1, blob(2, blob(1, scalar(1, 5))));

    const Bytes then_sequence = join(float_tensor, blob(4, Bytes{}));
    const Message one(message<"TypeProto">, then_sequence);
    CHECK(one.which("value") == &sequence);
    CHECK_FALSE(one.child(tensor));
    CHECK_FALSE(one.has(tensor));
    CHECK(one.child(sequence));

    const Bytes twice = join(float_tensor, shaped_tensor);
    const auto merged = Message(message<"TypeProto">, twice).child(tensor);
    REQUIRE(merged);
    CHECK(merged->has(elem_type));
    CHECK(merged->has(field<"TypeProto.Tensor.shape">));

    const Bytes between = join(float_tensor, blob(4, Bytes{}), shaped_tensor);
    const auto second = Message(message<"TypeProto">, between).child(tensor);
    REQUIRE(second);
    CHECK_FALSE(second->has(elem_type));
    CHECK(second->has(field<"TypeProto.Tensor.shape">));

    // An unknown field clears nothing, and a field outside of any oneof clears nothing.
    const Bytes wrong_type = join(float_tensor, scalar(4, 1), blob(6, "denotation"));
    CHECK(Message(message<"TypeProto">, wrong_type).which("value") == &tensor);
    CHECK(Message(message<"TypeProto">, ByteView{}).which("value") == nullptr);
}

TEST_CASE("message: scalar members of a oneof") {
    const auto& value = field<"TensorShapeProto.Dimension.dim_value">;
    const auto& param = field<"TensorShapeProto.Dimension.dim_param">;
    const Bytes bytes = join(scalar(1, 5), blob(2, "N"));
    const Message dimension(message<"TensorShapeProto.Dimension">, bytes);
    CHECK_FALSE(dimension.has(value));
    CHECK(dimension.text(param) == "N");
    const Bytes other = join(blob(2, "N"), scalar(1, 5), blob(3, "DATA_BATCH"));
    const Message back(message<"TensorShapeProto.Dimension">, other);
    CHECK(back.int64(value) == 5);
    CHECK_FALSE(back.has(param));
    CHECK(back.which("value") == &value);
}

TEST_CASE("message: bytes that change after loading are an error") {
    const Bytes bytes = join(scalar(1, 1), from_hex("12ff"));
    CHECK(code_of([&] {
              return Message(message<"ModelProto">, bytes).has(field<"ModelProto.graph">);
          }) == "wire.truncated");
}

TEST_CASE("message: packed runs that the load pass has not judged are judged on reading") {
    const auto code = [](const Bytes& bytes) {
        return code_of([&] {
            return values_of(Message(message<"TensorProto">, bytes), field<"TensorProto.dims">);
        });
    };
    CHECK(code(blob(1, from_hex("0580"))) == "wire.truncated");
    CHECK(code(blob(1, varint(0, 11))) == "wire.varint_too_long");
}

}  // namespace onnxmap::test
