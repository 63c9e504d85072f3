// What is taken out of a text, and where it is inserted. The tests in Python read whole messages.
#include "onnx/numbered_fields.hpp"

#include <doctest/doctest.h>

#include <string>

#include "caught.hpp"
#include "onnx/schema.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

onnx::SplitText split(std::string_view text) {
    return onnx::split_numbered(text, onnx::message<"NodeProto">);
}

std::string encoded(const Bytes& bytes) { return std::string(as_text(bytes)); }

}  // namespace

TEST_CASE("numbered_fields: the form of a value decides its wire type") {
    CHECK(split("99: 5").numbered.bytes == encoded(scalar(99, 5)));
    CHECK(split("99: 0x00000007").numbered.bytes == encoded(fixed32(99, 7)));
    CHECK(split("99: 0x0000000000000007").numbered.bytes == encoded(fixed64(99, 7)));
    CHECK(split(R"(99: "\"\x41\n" '\102?')").numbered.bytes == encoded(blob(99, "\"A\nB?")));
    CHECK(split("99 { 1: 2 7 <> }").numbered.bytes ==
          encoded(blob(99, join(scalar(1, 2), blob(7, "")))));
}

TEST_CASE("numbered_fields: the rest keeps its lines and columns") {
    CHECK(split("name: 'a' 99: 5, op_type: 'b'").rest == "name: 'a'        op_type: 'b'");
    CHECK(split("99: '\xc3\xa9' # c\n98 {\n}x: 1").rest == "        # c\n    \n x: 1");
    CHECK(split("name: '1: 2' # 3: 4").rest == "name: '1: 2' # 3: 4");
}

TEST_CASE("numbered_fields: what is anything else stays in the rest") {
    for (const std::string text :
         {"0: 1", "01: 1", "536870912: 1", "99: -1", "99: 1.5", "99: x", "99: 0x1", "99: '\\q'",
          "99: '\\777'", "99: 'a", "99 { name: 'a' }", "99 {", "99", "99: 18446744073709551616",
          "99: [1]"}) {
        CAPTURE(text);
        CHECK(split(text).rest == text);
        CHECK(split(text).numbered.empty());
    }
}

TEST_CASE("numbered_fields: a field stays before what would go on with the field before it") {
    for (const std::string text : {"name: 'a' 99: 5 'b'", "name: 'a' 99: 5, 'b'",
                                   "name: 'a', 99: 5,, domain: 'b'", "name: 'a' 99: 5;,"}) {
        CAPTURE(text);
        CHECK(split(text).rest == text);
        CHECK(split(text).numbered.empty());
    }
}

TEST_CASE("numbered_fields: they are inserted in the messages that have them") {
    const onnx::SplitText found =
        split("attribute [{}, { 50: 1 t { 51: 2 } }] 99: 3 attribute { 52: 4 } 98: 5");
    const auto known = join(blob(5, ""), blob(5, blob(5, "")), blob(5, ""));
    const auto inner = join(blob(5, scalar(51, 2)), scalar(50, 1));
    CHECK(onnx::insert_numbered(known, onnx::message<"NodeProto">, found.numbered) ==
          encoded(join(blob(5, ""), blob(5, inner), blob(5, scalar(52, 4)), scalar(99, 3),
                       scalar(98, 5))));
}

TEST_CASE("numbered_fields: messages may be nested 100 deep") {
    const auto nested = [](std::size_t depth) {
        std::string text;
        for (std::size_t i = 0; i < depth; ++i) text += "98{";
        return text + std::string(depth, '}');
    };
    CHECK(split(nested(100)).rest.find("98") == std::string::npos);
    CHECK(code_of([&] { return split(nested(101)); }) == "limit.depth");
}

}  // namespace onnxmap::test
