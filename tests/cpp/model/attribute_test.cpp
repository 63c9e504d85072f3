#include "model/attribute.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "model/node.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

namespace {

// A field of AttributeProto by its number, a value that fits it, and its AttributeType.
struct Case {
    std::int32_t type;
    std::string_view name;
    Bytes value;
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all = {
        {1, "f", fixed32(2, 0)},
        {2, "i", scalar(3, 0)},
        {3, "s", blob(4, "")},
        {4, "t", blob(5, Bytes{})},
        {5, "g", blob(6, Bytes{})},
        {6, "floats", blob(7, from_hex("00000000"))},
        {7, "ints", packed(8, {1})},
        {8, "strings", blob(9, "")},
        {9, "tensors", blob(10, Bytes{})},
        {10, "graphs", blob(11, Bytes{})},
        {13, "tp", blob(14, Bytes{})},
        {14, "type_protos", blob(15, Bytes{})},
        {11, "sparse_tensor", blob(22, Bytes{})},
        {12, "sparse_tensors", blob(23, Bytes{})},
    };
    return all;
}

// Views of the bytes in `kept`.
model::Attribute attribute_of(const Bytes& kept) {
    return model::Attribute({onnx::message<"AttributeProto">, kept});
}

std::string field_of(const Bytes& bytes) {
    const auto* field = attribute_of(bytes).value_field();
    return field == nullptr ? "none" : std::string(field->name);
}

}  // namespace

TEST_CASE("attribute: the type chooses the field that has the value") {
    for (const Case& each : cases()) {
        CAPTURE(each.name);
        CHECK(field_of(join(each.value, scalar(20, std::uint64_t(each.type)))) == each.name);
        // Even if that field is absent, or another one is present.
        CHECK(field_of(scalar(20, std::uint64_t(each.type))) == each.name);
        CHECK(field_of(join(scalar(3, 5), scalar(20, std::uint64_t(each.type)))) == each.name);
    }
}

TEST_CASE("attribute: without a type, as in old IR versions, the field that is there counts") {
    for (const Case& each : cases()) {
        CAPTURE(each.name);
        CHECK(attribute_of(each.value).type() == each.type);
        CHECK(field_of(each.value) == each.name);
    }
    CHECK(attribute_of(blob(1, "name")).type() == 0);
    CHECK(field_of(blob(1, "name")) == "none");
    CHECK(field_of(blob(8, Bytes{})) == "none");  // a packed run without values
}

TEST_CASE("attribute: an unknown type, UNDEFINED and a reference have no value") {
    CHECK(field_of(join(scalar(3, 5), scalar(20, 0))) == "none");
    // A number that the enum does not list is an unknown field, so there is no type.
    CHECK(field_of(join(scalar(3, 5), scalar(20, 99))) == "i");
    CHECK(field_of(join(scalar(3, 5), scalar(20, 2), blob(21, "alpha"))) == "none");
    CHECK(attribute_of(join(scalar(3, 5), scalar(20, 2), blob(21, "alpha"))).type() == 2);
}

TEST_CASE("attribute: the last attribute of a repeated name counts, in the place of the first") {
    const auto named = [](std::string_view name, std::uint64_t value) {
        return join(blob(1, name), scalar(3, value), scalar(20, 2));
    };
    const auto values = [](const std::vector<model::Attribute>& attributes) {
        std::vector<std::pair<std::string, std::int64_t>> found;
        for (const model::Attribute& each : attributes) {
            found.emplace_back(each.name(), each.message().int64(onnx::field<"AttributeProto.i">));
        }
        return found;
    };
    const std::vector<std::pair<std::string, std::int64_t>> expected{{"a", 3}, {"b", 2}, {"", 4}};
    const Bytes node = join(blob(5, named("a", 1)), blob(5, named("b", 2)), blob(5, named("a", 3)),
                            blob(5, named("", 4)));
    CHECK(values(model::Node({onnx::message<"NodeProto">, node}).attributes()) == expected);
}

}  // namespace onnxmap::test
