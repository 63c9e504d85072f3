#include "onnx/operators.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>

#include "onnx/data_type.hpp"

namespace onnxmap::test {

namespace {

using onnx::Operator;
using onnx::ValueType;
using Kind = ValueType::Kind;

Operator find(std::string_view name, std::int64_t version) {
    std::optional<Operator> found;
    onnx::for_each_operator(0, version, [&](const Operator& each) {
        if (each.name() == name) found = each;
    });
    REQUIRE(found);
    return *found;
}

constexpr ValueType tensor(onnx::DataType type) {
    return {Kind::tensor, static_cast<std::int64_t>(type)};
}

}  // namespace

TEST_CASE("operators: every operator comes once, in its newest version so far") {
    for (const std::int64_t version : {1, 11, 21, 999}) {
        std::set<std::string> names;
        onnx::for_each_operator(0, version, [&](const Operator& each) {
            CHECK(each.since() <= version);
            CHECK(names.insert(std::string(each.name())).second);
        });
        CHECK(names.contains("Conv"));
        CHECK(names.contains("Gelu") == (version >= 20));
    }
    CHECK(find("Softmax", 12).since() == 11);
    CHECK(find("Softmax", 13).since() == 13);
    CHECK(find("Upsample", 21).deprecated());
}

TEST_CASE("operators: parameters, optional and any number of them") {
    const Operator clip = find("Clip", 21);
    CHECK(clip.least_inputs() == 1);
    CHECK(clip.most_inputs() == 3);
    CHECK(clip.input(0).required);
    CHECK_FALSE(clip.input(2).required);
    CHECK(clip.input(2).letter == clip.input(0).letter);
    CHECK(clip.input(3).letter == 0);
    const Operator concat = find("Concat", 21);
    CHECK(concat.most_inputs() == Operator::kUnlimited);
    CHECK(concat.input(1000).letter == concat.input(0).letter);
    CHECK_FALSE(concat.input(1000).own_type);
    const Operator loop = find("Loop", 21);
    CHECK_FALSE(loop.input(0).required);
    CHECK(loop.input(5).own_type);
    CHECK(loop.output(5).own_type);
}

TEST_CASE("operators: types of parameters") {
    const Operator conv = find("Conv", 21);
    const auto& types = conv.types(conv.input(1).letter);
    CHECK(types.has(tensor(onnx::DataType::FLOAT16)));
    CHECK_FALSE(types.has(tensor(onnx::DataType::INT64)));
    CHECK_FALSE(types.has({Kind::sequence, 1}));
    CHECK_FALSE(types.only().is_known());
    const Operator shape = find("Shape", 21);
    CHECK(shape.types(shape.output(0).letter).only() == tensor(onnx::DataType::INT64));
    const Operator at = find("SequenceAt", 21);
    CHECK(at.types(at.input(0).letter).has({Kind::sequence, 1}));
    CHECK(tensor(onnx::DataType::FLOAT).text() == "FLOAT");
    CHECK(ValueType(Kind::optional_sequence, 7).text() == "an optional sequence of INT64");
    CHECK(ValueType::other().text() == "a map");
    CHECK_FALSE(ValueType(Kind::tensor, 0).is_known());
    CHECK_FALSE(ValueType(Kind::tensor, 1000).is_known());
    CHECK(ValueType::from_code(ValueType(Kind::optional, 9).code()) ==
          ValueType(Kind::optional, 9));
    for (const onnx::DataTypeInfo& info : onnx::data_types()) {
        CHECK(ValueType(Kind::sequence, static_cast<int>(info.type)).is_known());
    }
}

TEST_CASE("operators: attributes") {
    const Operator cast = find("Cast", 21);
    REQUIRE(cast.attribute("to"));
    CHECK(cast.attribute("to")->required);
    CHECK(cast.attribute("to")->type == 2);
    CHECK_FALSE(cast.attribute("t"));
    CHECK_FALSE(cast.attribute("too"));
    CHECK(cast.needs_attributes());
    const Operator conv = find("Conv", 21);
    CHECK_FALSE(conv.needs_attributes());
    CHECK(conv.attribute("pads")->type == 7);
    CHECK(find("Constant", 21).attribute("sparse_value")->type == 11);
    int count = 0;
    conv.for_each_attribute([&](const Operator::Attribute& each) {
        CHECK_FALSE(each.required);
        ++count;
    });
    CHECK(count == 6);
}

TEST_CASE("operators: none takes a sparse tensor") {
    const ValueType sparse(Kind::sparse_tensor, 1);
    CHECK(sparse.text() == "a sparse tensor of FLOAT");
    CHECK(ValueType::from_code(sparse.code()) == sparse);
    onnx::for_each_operator(0, 999, [&](const Operator& each) {
        for (std::size_t i = 0; each.input(i).letter != 0 && i < 10; ++i) {
            CHECK_FALSE(each.types(each.input(i).letter).has(sparse));
        }
    });
}

}  // namespace onnxmap::test
