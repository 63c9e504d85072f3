// A few expected texts. The tests in Python compare all fields with the official package.
#include "onnx/json_format.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "caught.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

namespace {

std::string json_of(const wire::MessageTable& table, const Bytes& bytes,
                    const onnx::JsonOptions& options = {}) {
    std::string text;
    onnx::write_json(onnx::Message(table, bytes), options,
                     [&](std::string_view part) { text += part; });
    return text;
}

std::string json_of_double(double value) {
    return json_of(onnx::message<"TensorProto">,
                   fixed64(10, __builtin_bit_cast(std::uint64_t, value)));
}

std::string json_of_float(float value) {
    return json_of(onnx::message<"AttributeProto">,
                   fixed32(2, __builtin_bit_cast(std::uint32_t, value)));
}

}  // namespace

TEST_CASE("json_format: nested messages, on one line and indented") {
    const Bytes bytes = model(join(blob(1, node("Relu"))));
    CHECK(
        json_of(onnx::message<"ModelProto">, bytes) ==
        R"({"irVersion": "10", "producerName": "tests", "graph": {"node": [{"input": ["x"], )"
        R"("output": ["y"], "opType": "Relu"}]}, "opsetImport": [{"domain": "", "version": "21"}]})");
    CHECK(
        json_of(onnx::message<"NodeProto">, node("Relu"), {.proto_names = true, .indent = 1}) ==
        "{\n \"input\": [\n  \"x\"\n ],\n \"output\": [\n  \"y\"\n ],\n \"op_type\": \"Relu\"\n}");
    CHECK(json_of(onnx::message<"ModelProto">, {}) == "{}");
}

TEST_CASE("json_format: numbers have the digits that Python's repr has") {
    CHECK(json_of_double(0.1) == R"({"doubleData": [0.1]})");
    CHECK(json_of_double(-0.0) == R"({"doubleData": [-0.0]})");
    CHECK(json_of_double(1e15) == R"({"doubleData": [1000000000000000.0]})");
    CHECK(json_of_double(1e16) == R"({"doubleData": [1e+16]})");
    CHECK(json_of_double(1.5e300) == R"({"doubleData": [1.5e+300]})");
    CHECK(json_of_double(0.0001) == R"({"doubleData": [0.0001]})");
    CHECK(json_of_double(0.00001) == R"({"doubleData": [1e-05]})");
    CHECK(json_of_double(5e-324) == R"({"doubleData": [5e-324]})");
    CHECK(json_of_double(123456.789) == R"({"doubleData": [123456.789]})");
    CHECK(json_of_double(std::numeric_limits<double>::infinity()) ==
          R"({"doubleData": ["Infinity"]})");
    CHECK(json_of_float(0.1F) == R"({"f": 0.1})");
    CHECK(json_of_float(1e-45F) == R"({"f": 1.4013e-45})");
    CHECK(json_of_float(std::nanf("")) == R"({"f": "NaN"})");
}

TEST_CASE("json_format: strings are escaped, bytes are Base64") {
    CHECK(json_of(onnx::message<"NodeProto">, blob(3, "a\"\\\n\x01\x7f")) ==
          R"({"name": "a\"\\\n\u0001\u007f"})");
    CHECK(json_of(onnx::message<"NodeProto">, blob(3, "\xc3\xa9\xf0\x9f\x98\x80\xff")) ==
          R"({"name": "\u00e9\ud83d\ude00\udcff"})");
    CHECK(json_of(onnx::message<"TensorProto">, blob(9, "abcd")) == R"({"rawData": "YWJjZA=="})");
    CHECK(json_of(onnx::message<"TensorProto">, blob(9, "abcde")) == R"({"rawData": "YWJjZGU="})");
}

TEST_CASE("json_format: long values are cut, and their length stands beside") {
    const Bytes bytes = join(packed(1, {1, 2, 3}), blob(8, "\xc3\xa9\xc3\xa9\xc3\xa9"));
    CHECK(json_of(onnx::message<"TensorProto">, bytes, {.text = {.longest = 2}}) ==
          R"({"dims": {"cut": true, "length": 3, "first": ["1", "2"]}, )"
          R"("name": {"cut": true, "length": 3, "first": "\u00e9\u00e9"}})");
}

TEST_CASE("json_format: one field, one element, and the limit") {
    const Bytes bytes = packed(1, {7, 8});
    const onnx::Message tensor(onnx::message<"TensorProto">, bytes);
    const auto part = [&](std::optional<std::uint64_t> index) {
        std::string text;
        onnx::write_json(tensor, onnx::field<"TensorProto.dims">, index, {},
                         [&](std::string_view each) { text += each; });
        return text;
    };
    CHECK(part({}) == R"(["7", "8"])");
    CHECK(part(1) == R"("8")");
    CHECK(code_of([&] {
              return json_of(onnx::message<"TensorProto">, bytes, {.text = {.max_bytes = 10}});
          }) == "limit.text_bytes");
    CHECK(code_of([&] {
              return json_of(onnx::message<"TensorProto">, bytes,
                             {.text = {.max_bytes = 100}, .element_nbytes = 64});
          }) == "limit.text_bytes");
}

}  // namespace onnxmap::test
