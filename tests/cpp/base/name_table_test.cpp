#include "base/name_table.hpp"

#include <doctest/doctest.h>

#include <string>

namespace onnxmap::test {

TEST_CASE("name_table: names get positions in the order in which they are added") {
    // Among 300,000 names, some ten pairs have the same 32 bits of hash.
    for (const std::uint32_t count : {0U, 1U, 8U, 9U, 16U, 17U, 300'000U}) {
        CAPTURE(count);
        NameTable table;
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto added = table.add("layer." + std::to_string(i));
            REQUIRE(added.position == i);
            REQUIRE(added.is_new);
        }
        REQUIRE(table.size() == count);
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::string name = "layer." + std::to_string(i);
            REQUIRE(table.find(name) == i);
            REQUIRE(table.name(i) == name);
            const auto again = table.add(name);
            REQUIRE(again.position == i);
            REQUIRE_FALSE(again.is_new);
        }
        CHECK(table.size() == count);
        CHECK_FALSE(table.find("layer." + std::to_string(count)));
        CHECK_FALSE(table.find(""));
    }
}

TEST_CASE("name_table: names of all lengths, with zeros and with the same ends, are different") {
    NameTable table;
    std::uint32_t next = 0;
    for (std::size_t length = 0; length < 40; ++length) {
        CHECK(table.add(std::string(length, '\0')).position == next++);
        if (length == 0) continue;
        for (std::size_t i = 0; i < length; ++i) {
            std::string name(length, '\0');
            name[i] = 'x';
            CHECK(table.add(name).position == next++);
            CHECK(table.find(name) == next - 1);
        }
    }
    CHECK(table.size() == next);
}

TEST_CASE("name_table: the table keeps its own copy of a name") {
    NameTable table;
    std::string name = "weight";
    table.add(name);
    name[0] = 'W';
    CHECK(table.find("weight") == 0U);
    CHECK_FALSE(table.find(name));
    CHECK(table.name(0) == "weight");
}

}  // namespace onnxmap::test
