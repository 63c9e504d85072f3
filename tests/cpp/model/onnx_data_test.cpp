#include "model/onnx_data.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "caught.hpp"
#include "memory_source.hpp"
#include "onnx/schema.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

namespace {

// The name of the field, or "" for none.
std::string name_of(const wire::FieldRow* row) {
    return row == nullptr ? std::string() : std::string(row->name);
}

std::string sequence_field(const Bytes& bytes) {
    return name_of(
        model::sequence_field(onnx::Message(onnx::message<"SequenceProto">, ByteView(bytes))));
}

model::Document document_of(std::string_view message, const Bytes& bytes) {
    model::LoadOptions options;
    options.root = onnx::find_message(message);
    return {std::make_shared<MemorySource>(bytes), options};
}

// The name of the message, or "" for none.
std::string optional_value(const Bytes& bytes) {
    const model::Document document = document_of("OptionalProto", bytes);
    const auto value = model::optional_value(document, document.root());
    return value ? std::string(value->table().name) : std::string();
}

std::string keys_field(const Bytes& bytes) {
    const model::Document document = document_of("MapProto", bytes);
    return name_of(&model::keys_field(document, document.root()));
}

constexpr std::uint64_t kElemType = 2;

const std::vector<std::string> kKinds = {"tensor", "sparse_tensor", "sequence", "map", "optional"};

}  // namespace

TEST_CASE("onnx_data: the element type of a sequence names its field, even without values") {
    for (std::uint64_t type = 1; type <= kKinds.size(); ++type) {
        const std::string name = kKinds[type - 1] + "_values";
        CHECK(sequence_field(scalar(kElemType, type)) == name);
        const Bytes other = blob(type == 5 ? 3 : type + 3, Bytes{});
        CHECK(sequence_field(join(scalar(kElemType, type), other)) == name);
    }
}

TEST_CASE("onnx_data: without a known element type, the first field that has values") {
    for (const Bytes& type : {Bytes{}, scalar(kElemType, 0), scalar(kElemType, 6),
                              scalar(kElemType, 0xffff'ffff'ffff'ffff)}) {
        CHECK(sequence_field(type).empty());
        CHECK(sequence_field(join(type, blob(5, Bytes{}))) == "sequence_values");
        CHECK(sequence_field(join(blob(7, Bytes{}), blob(4, Bytes{}), type)) ==
              "sparse_tensor_values");
    }
}

TEST_CASE("onnx_data: an optional has the value that its element type names, or none") {
    const std::vector<std::string> messages = {"TensorProto", "SparseTensorProto", "SequenceProto",
                                               "MapProto", "OptionalProto"};
    for (std::uint64_t type = 1; type <= messages.size(); ++type) {
        const Bytes value = blob(type + 2, Bytes{});
        CHECK(optional_value(join(scalar(kElemType, type), value)) == messages[type - 1]);
        CHECK(optional_value(scalar(kElemType, type)).empty());
        CHECK(optional_value(join(scalar(kElemType, type % 5 + 1), value)).empty());
        CHECK(optional_value(value).empty());
        CHECK(optional_value(join(scalar(kElemType, 6), value)).empty());
    }
}

TEST_CASE("onnx_data: the key type of a map says where its keys are") {
    const Bytes two = blob(5, join(scalar(kElemType, 1), blob(3, Bytes{}), blob(3, Bytes{})));
    const Bytes numbers = packed(3, {1, 2});
    const Bytes texts = join(blob(4, "a"), blob(4, "b"));
    CHECK(keys_field(join(scalar(2, 7), numbers, two)) == "keys");
    CHECK(keys_field(join(scalar(2, 8), texts, two)) == "string_keys");
    CHECK(keys_field(join(numbers, two)) == "keys");
    CHECK(keys_field(Bytes{}) == "keys");
    CHECK(keys_field(blob(5, Bytes{})) == "keys");
}

TEST_CASE("onnx_data: a map has one value for each key") {
    const Bytes one = blob(5, blob(3, Bytes{}));
    const auto error = error_of([&] { return keys_field(join(packed(3, {1, 2}), one)); });
    REQUIRE(error);
    CHECK(error->code == "model.map_size");
    CHECK(std::string(error->what()) == "a map has 2 keys but 1 values");
    CHECK(code_of([&] { return keys_field(one); }) == "model.map_size");
    CHECK(code_of([&] { return keys_field(scalar(3, 1)); }) == "model.map_size");
    // Keys of the other type do not count.
    CHECK(code_of([&] { return keys_field(join(scalar(2, 8), scalar(3, 1), one)); }) ==
          "model.map_size");
    // Two occurrences of the values are one sequence.
    CHECK(keys_field(join(packed(3, {1, 2}), one, one)) == "keys");
}

}  // namespace onnxmap::test
