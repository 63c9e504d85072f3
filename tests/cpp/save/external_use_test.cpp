#include "save/external_use.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "memory_source.hpp"

namespace onnxmap::test {

TEST_CASE("external_use: a plain location") {
    for (const auto& [location, plain] :
         {std::pair("w", "w"), std::pair("./w", "w"), std::pair("a/../w", "w"),
          std::pair("a//b/./w", "a/b/w"), std::pair("a/b/../../w", "w"), std::pair("/a/../w", "/w"),
          std::pair("../w", "../w"), std::pair("a/../../w", "../w"), std::pair("..w/.w", "..w/.w"),
          std::pair("./", ""), std::pair("", ""), std::pair("/", "/")}) {
        CAPTURE(location);
        CHECK(save::plain_location(location) == plain);
    }
}

TEST_CASE("external_use: spellings of a path are one if they lead to the same file") {
    const auto one = std::make_shared<MemorySource>(as_bytes("1"));
    const auto other = std::make_shared<MemorySource>(as_bytes("2"));
    save::FileFinder finder;
    CHECK(finder.path_of({one, "/m/./w"}) == "/m/./w");
    CHECK(finder.path_of({one, "/m/w"}) == "/m/./w");
    CHECK(finder.path_of({one, "/m/a/../w"}) == "/m/./w");
    CHECK(finder.path_of({one, "/m/link"}) == "/m/link");
    CHECK(finder.path_of({other, "/m/a/../w"}) == "/m/a/../w");
}

}  // namespace onnxmap::test
