// A few expected texts. The tests in Python compare all fields with the official package.
#include "onnx/text_format.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "sample_models.hpp"

namespace onnxmap::test {

namespace {

std::string text_of(const wire::MessageTable& table, const Bytes& bytes,
                    const onnx::TextOptions& options = {}) {
    std::string text;
    onnx::write_text(onnx::Message(table, bytes), options,
                     [&](std::string_view part) { text += part; });
    return text;
}

Bytes float_bits(float value) { return fixed32(2, __builtin_bit_cast(std::uint32_t, value)); }

std::string float_text(float value) {
    return text_of(onnx::message<"AttributeProto">, float_bits(value));
}

}  // namespace

TEST_CASE("text_format: a small model in full") {
    const Bytes bytes = model(join(blob(2, "g"), blob(1, node("Relu")), blob(5, scalar(1, 2))));
    CHECK(text_of(onnx::message<"ModelProto">, bytes) ==
          R"(ir_version: 10
producer_name: "tests"
graph {
  node {
    input: "x"
    output: "y"
    op_type: "Relu"
  }
  name: "g"
  initializer {
    dims: 2
  }
}
opset_import {
  domain: ""
  version: 21
}
)");
    CHECK(text_of(onnx::message<"ModelProto">, {}).empty());
}

TEST_CASE("text_format: a number has 6 or 9 digits, or 15 or 17, as protobuf writes it") {
    CHECK(float_text(1.0F) == "f: 1\n");
    CHECK(float_text(0.1F) == "f: 0.1\n");
    CHECK(float_text(1.0F / 3) == "f: 0.333333343\n");
    CHECK(float_text(-0.0F) == "f: -0\n");
    CHECK(float_text(1e30F) == "f: 1e+30\n");
    CHECK(float_text(std::numeric_limits<float>::infinity()) == "f: inf\n");
    CHECK(float_text(-std::numeric_limits<float>::infinity()) == "f: -inf\n");
    CHECK(float_text(std::numeric_limits<float>::quiet_NaN()) == "f: nan\n");
    const Bytes third = fixed64(10, __builtin_bit_cast(std::uint64_t, 1.0 / 3));
    CHECK(text_of(onnx::message<"TensorProto">, third) == "double_data: 0.33333333333333331\n");
}

TEST_CASE("text_format: enums have names, and integers have signs") {
    CHECK(text_of(onnx::message<"AttributeProto">, join(scalar(3, UINT64_MAX), scalar(20, 2))) ==
          "i: -1\ntype: INT\n");
    CHECK(text_of(onnx::message<"TensorProto">,
                  join(scalar(2, UINT64_MAX), packed(11, {UINT64_MAX}), scalar(14, 7))) ==
          "data_type: -1\nuint64_data: 18446744073709551615\n");
}

TEST_CASE("text_format: text stays UTF-8, and bytes are escaped") {
    const Bytes text = join(from_text("a\n\t\r\"'\\"), from_hex("00 c3a4 ff eda080 7f"));
    CHECK(text_of(onnx::message<"ModelProto">, blob(2, text)) ==
          "producer_name: \"a\\n\\t\\r\\\"\\'\\\\\\000\xc3\xa4\\377\\355\\240\\200\\177\"\n");
    CHECK(text_of(onnx::message<"TensorProto">, blob(9, from_hex("00c3a441"))) ==
          "raw_data: \"\\000\\303\\244A\"\n");
}

TEST_CASE("text_format: unknown and retired fields are left out") {
    const Bytes bytes = join(blob(1, "f"), scalar(2, 1), scalar(3, 1), scalar(999, 1), group(998));
    CHECK(text_of(onnx::message<"FunctionProto">, bytes) == "name: \"f\"\n");
}

TEST_CASE("text_format: long values are cut, and a comment says so") {
    const Bytes bytes = join(packed(1, {1, 2, 3}), blob(8, "abcdef"));
    CHECK(text_of(onnx::message<"TensorProto">, bytes, {.longest = 2}) ==
          "dims: 1\ndims: 2\n# dims: 3 values, 2 shown\nname: \"ab\"  # 6 bytes, 2 shown\n");
}

}  // namespace onnxmap::test
