// What JSON the reader accepts, and where it stops.
#include "safetensors/json_reader.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "caught.hpp"

namespace onnxmap::test {

namespace {

using safetensors::JsonReader;

std::string read_string(std::string_view text) {
    JsonReader reader(text);
    std::string found = reader.string();
    reader.end();
    return found;
}

bool is_skipped(std::string_view text) {
    return code_of([&] {
               JsonReader reader(text);
               reader.skip_value();
               reader.end();
           }) == "accepted";
}

}  // namespace

TEST_CASE("json_reader: strings") {
    CHECK(read_string(R"( "a\"\\\/\b\f\n\r\t" )") == "a\"\\/\b\f\n\r\t");
    CHECK(read_string(R"("A\u00e9\u20ac\uD83d\ude00")") == "A\u00e9\u20ac\U0001f600");
    CHECK(read_string(R"("\u0000")") == std::string(1, '\0'));
    for (const std::string_view wrong :
         {"\"a", "a\"", "'a'", "\"\\x\"", "\"\\", "\"\\u12\"", "\"\\u12g4\"", "\"\\u+123\"",
          "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\n\"", "\"\xff\"", "\"a\" b"}) {
        CAPTURE(wrong);
        CHECK(code_of([&] { static_cast<void>(read_string(wrong)); }) == "model.safetensors");
    }
}

TEST_CASE("json_reader: integers") {
    const auto read = [](std::string_view text) {
        JsonReader reader(text);
        return reader.integer();
    };
    CHECK(read(" 0,") == 0);
    CHECK(read("18446744073709551615]") == UINT64_MAX);
    for (const std::string_view wrong :
         {"", "-1", "-0", "01", "1.0", "1e2", "1E2", "18446744073709551616", "+1", "true"}) {
        CAPTURE(wrong);
        CHECK(code_of([&] { static_cast<void>(read(wrong)); }) == "model.safetensors");
    }
}

TEST_CASE("json_reader: values that are skipped") {
    for (const std::string_view right : {"null", "true", "false", "0", "-0.5e+10", "1E2", "[]",
                                         "{}", " [ 1 , \"a\" ,{\"b\":[]}] "}) {
        CAPTURE(right);
        CHECK(is_skipped(right));
    }
    for (const std::string_view wrong :
         {"nul", "nulll", "NaN", "01", "1.", ".5", "1e", "- 1", "[1,]", "[1 2]", "{\"a\"}", "{a:1}",
          "{\"a\":1,}", "[", "1 1", "\v1"}) {
        CAPTURE(wrong);
        CHECK_FALSE(is_skipped(wrong));
    }
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    CHECK(is_skipped(nested(127)));
    CHECK_FALSE(is_skipped(nested(128)));
}

TEST_CASE("json_reader: errors say where") {
    JsonReader reader("{\"a\": 1, \"b\": x}", 8);
    std::vector<std::string> keys;
    try {
        reader.for_each_member([&](const std::string& key) {
            keys.push_back(key);
            static_cast<void>(reader.integer());
        });
        FAIL("it was accepted");
    } catch (const Error& error) {
        CHECK(error.offset == 8 + 14);
    }
    CHECK(keys == std::vector<std::string>{"a", "b"});
}

TEST_CASE("json_reader: written strings are read back") {
    std::string all;
    for (int c = 1; c < 0x80; ++c) all += static_cast<char>(c);
    all += "\u00e9\U0001f600";
    std::string text;
    safetensors::write_json_string(text, all);
    CHECK(read_string(text) == all);
    CHECK(text.find("\\u001f") != std::string::npos);
}

}  // namespace onnxmap::test
