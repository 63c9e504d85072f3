#include "model/name_table.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace onnxmap::test {

using model::NameTable;

TEST_CASE("name_table: names get positions in the order in which they are added") {
    // Among 300,000 names, some ten pairs have the same 32 bits of hash.
    for (const std::uint32_t count : {0U, 1U, 8U, 9U, 16U, 17U, 300'000U}) {
        CAPTURE(count);
        NameTable table(NameTable::Text::copied);
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
    NameTable table(NameTable::Text::copied);
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

TEST_CASE("name_table: names that are hashed before others are added get the same positions") {
    for (const std::uint32_t count : {3U, 40U, 5000U}) {
        CAPTURE(count);
        std::vector<std::string> names;
        for (std::uint32_t i = 0; i < count; ++i) names.push_back("n" + std::to_string(i / 2));
        NameTable table;
        std::vector<std::uint32_t> hashes;
        hashes.reserve(count);
        for (const std::string& name : names) {
            hashes.push_back(NameTable::hash_of(name));
            table.prefetch(hashes.back());
        }
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto added = table.add(names[i], hashes[i]);
            CHECK(added.position == i / 2);
            CHECK(added.is_new == (i % 2 == 0));
        }
        for (const std::string& name : names) CHECK(table.find(name).has_value());
    }
}

TEST_CASE("name_table: room can be made before the first name, later, and for too few") {
    for (const std::uint32_t room : {0U, 8U, 9U, 100U, 5000U}) {
        CAPTURE(room);
        NameTable table(NameTable::Text::copied);
        table.add("first");
        table.reserve(room);
        for (std::uint32_t i = 1; i < 300; ++i) {
            CHECK(table.add(std::to_string(i)).position == i);
            if (i == 150) table.reserve(room);
        }
        CHECK(table.find("first") == 0U);
        for (std::uint32_t i = 1; i < 300; ++i) CHECK(table.find(std::to_string(i)) == i);
    }
}

TEST_CASE("name_table: a table that copies keeps its own text of a name of any length") {
    NameTable table(NameTable::Text::copied);
    const auto nth = [](std::size_t i) {
        return std::string(i % 7 == 0 ? 70'000 * i : i, 'x') + std::to_string(i);
    };
    for (std::size_t i = 0; i < 60; ++i) {
        std::string name = nth(i);
        table.add(name);
        name.assign(name.size(), '?');
    }
    NameTable moved = std::move(table);
    for (std::uint32_t i = 0; i < 60; ++i) {
        CHECK(moved.find(nth(i)) == i);
        const bool same = moved.name(i) == nth(i);
        CHECK(same);
    }
}

}  // namespace onnxmap::test
