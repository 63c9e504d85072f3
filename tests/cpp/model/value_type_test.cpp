#include "model/value_type.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "caught.hpp"
#include "loaded_model.hpp"
#include "model/message_list.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::test {

namespace {

using model::ValueType;

// The type as text, like "sequence(tensor 1 [2,N,?])".
std::string words(const ValueType* type) {
    if (type == nullptr) return "nothing";
    const std::string elem = type->elem_type ? " " + std::to_string(*type->elem_type) : "";
    const std::string inner = "(" + words(type->inner.get()) + ")";
    switch (type->kind) {
        case ValueType::Kind::sequence: return "sequence" + inner;
        case ValueType::Kind::optional: return "optional" + inner;
        case ValueType::Kind::map: return "map" + elem + inner;
        case ValueType::Kind::opaque:
            return "opaque " + std::string(type->domain) + "." + std::string(type->name);
        default: break;
    }
    std::string text = (type->kind == ValueType::Kind::tensor ? "tensor" : "sparse") + elem;
    if (!type->shape) return text;
    text += " [";
    for (const model::Dimension& dim : *type->shape) {
        if (text.back() != '[') text += ',';
        text += dim.value ? std::to_string(*dim.value)
                          : (dim.is_known() ? std::string(dim.param) : "?");
    }
    return text + "]";
}

std::string words(const Bytes& type, std::uint32_t max_depth = 100) {
    const auto found = model::value_type({onnx::message<"TypeProto">, type}, max_depth);
    return words(found ? &*found : nullptr);
}

Bytes shape(const std::vector<Bytes>& dims) {
    Bytes bytes;
    for (const Bytes& dim : dims) append(bytes, blob(1, dim));
    return bytes;
}

Bytes tensor_of(std::uint64_t elem_type) { return blob(1, scalar(1, elem_type)); }

}  // namespace

TEST_CASE("value_type: tensors have all kinds of dimensions") {
    const Bytes dims = shape({scalar(1, 2), blob(2, "N"), Bytes{}, blob(2, ""), scalar(1, 0),
                              join(scalar(1, 5), blob(2, "last"))});
    CHECK(words(blob(1, join(scalar(1, 1), blob(2, dims)))) == "tensor 1 [2,N,?,?,0,last]");
    CHECK(words(blob(8, join(scalar(1, 7), blob(2, shape({}))))) == "sparse 7 []");
    CHECK(words(tensor_of(10)) == "tensor 10");
    CHECK(words(blob(1, Bytes{})) == "tensor");
    CHECK(words(blob(1, blob(2, shape({scalar(1, 3)})))) == "tensor [3]");
}

TEST_CASE("value_type: placeholders of exporters are unknown") {
    const Bytes dims =
        shape({blob(2, "?"), scalar(1, UINT64_MAX), blob(2, "None"), blob(2, "-1"),
               blob(2, "unk__12"), blob(2, "unk__"), blob(2, "unk__1a"), blob(2, "none")});
    CHECK(words(blob(1, blob(2, dims))) == "tensor [?,?,?,?,?,unk__,unk__1a,none]");
}

TEST_CASE("value_type: types may be nested") {
    CHECK(words(blob(4, blob(1, tensor_of(1)))) == "sequence(tensor 1)");
    CHECK(words(blob(9, blob(1, blob(4, blob(1, tensor_of(9)))))) ==
          "optional(sequence(tensor 9))");
    CHECK(words(blob(5, join(scalar(1, 8), blob(2, tensor_of(1))))) == "map 8(tensor 1)");
    CHECK(words(blob(7, join(blob(1, "com.x"), blob(2, "Handle")))) == "opaque com.x.Handle");
    CHECK(words(blob(4, Bytes{})) == "sequence(nothing)");
    CHECK(words(blob(4, blob(1, blob(6, "denotation")))) == "sequence(nothing)");
}

TEST_CASE("value_type: an absent type, and the last member of the oneof") {
    CHECK(words(Bytes{}) == "nothing");
    CHECK(words(blob(6, "denotation")) == "nothing");
    CHECK(words(join(tensor_of(1), blob(4, Bytes{}))) == "sequence(nothing)");
    // Two occurrences of the same message are merged.
    CHECK(words(join(blob(1, scalar(1, 3)), blob(1, blob(2, shape({scalar(1, 4)}))))) ==
          "tensor 3 [4]");
}

TEST_CASE("value_type: nesting up to the limit is read, and no deeper") {
    Bytes type = tensor_of(1);
    for (int i = 0; i < 9; ++i) type = blob(4, blob(1, type));
    CHECK(words(type, 10).starts_with("sequence(sequence("));
    CHECK(code_of([&] { return words(type, 9); }) == "file.changed");
}

TEST_CASE("value_type: a value has a type") {
    const auto of_value = [](const Bytes& info) {
        const LoadedModel loaded(blob(11, info));
        const auto input =
            model::MessageList(loaded.graph.fields(), onnx::field<"GraphProto.input">).at(0);
        const auto found = model::type_of_value(*loaded.document, input);
        return words(found ? &*found : nullptr);
    };
    CHECK(of_value(join(blob(1, "x"), blob(2, tensor_of(1)))) == "tensor 1");
    CHECK(of_value(blob(1, "x")) == "nothing");
}

}  // namespace onnxmap::test
