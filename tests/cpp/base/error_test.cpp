#include "base/error.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "base/checked.hpp"

namespace onnxmap::test {

TEST_CASE("error: text from a file is escaped and cut for a message") {
    CHECK(in_quotes("") == "''");
    CHECK(in_quotes("conv1.weight") == "'conv1.weight'");
    CHECK(in_quotes("it's a \\") == "'it\\'s a \\\\'");
    CHECK(in_quotes(std::string("a\0b\n\x1b\x7f", 6)) == "'a\\x00b\\x0a\\x1b\\x7f'");
    CHECK(in_quotes("\xc3\xa4\xff") == "'\xc3\xa4\xff'");  // Python must be able to decode it
    CHECK(in_quotes(std::string(200, 'x')) == "'" + std::string(200, 'x') + "'");
    CHECK(in_quotes(std::string(201, 'x')) == "'" + std::string(200, 'x') + "...'");
}

TEST_CASE("error: text that is only escaped for a quote is not cut") {
    CHECK(escaped("it's \"so\"", '"') == "it's \\\"so\\\"");
    CHECK(escaped(std::string(500, '\n'), '"').size() == 2000);
}

TEST_CASE("error: a failure of the operating system knows its number and file") {
    const FileError error(ENOENT, "/no/such/file");
    CHECK(error.number == ENOENT);
    CHECK(error.path == "/no/such/file");
    CHECK(std::string(error.what()).find("/no/such/file") != std::string::npos);
}

TEST_CASE("checked: products and sums that do not fit are refused") {
    std::uint64_t result = 0;
    CHECK(checked_mul(1ULL << 32, (1ULL << 32) - 1, result));
    CHECK(result == 0xffff'ffff'0000'0000);
    CHECK_FALSE(checked_mul(1ULL << 32, 1ULL << 32, result));
    CHECK(checked_add(UINT64_MAX - 1, 1, result));
    CHECK(result == UINT64_MAX);
    CHECK_FALSE(checked_add(UINT64_MAX, 1, result));
}

TEST_CASE("error: a text is made of parts") {
    CHECK(text_from({}) == "");
    CHECK(text_from({"element ", std::uint64_t{3}, " of ", Quoted("a\nb"), std::string("!")}) ==
          "element 3 of 'a\\x0ab'!");
    CHECK(text_from({INT64_MIN, " to ", INT64_MAX, ", ", UINT64_MAX, ", ", -1, ", ",
                     std::uint8_t{200}}) ==
          "-9223372036854775808 to 9223372036854775807, 18446744073709551615, -1, 200");
    CHECK(std::string_view(Error("tensor.rank", {"rank ", 9}).what()) == "rank 9");
}

}  // namespace onnxmap::test
