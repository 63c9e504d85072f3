#include "save/file_content.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "memory_source.hpp"
#include "save/saved_files.hpp"
#include "save/write_content.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

using save::ContentPart;
using save::FileContent;

std::shared_ptr<const source::Source> source_of(std::string_view text) {
    return std::make_shared<MemorySource>(as_bytes(text));
}

std::string written(const FileContent& parts) {
    std::string text;
    save::SinkFunction sink([&](ByteView bytes) { text += as_text(bytes); });
    static_cast<void>(save::write_content(parts, sink));
    return text;
}

}  // namespace

TEST_CASE("file_content: written in order, whatever they are") {
    const auto source = source_of("0123456789");
    FileContent parts;
    CHECK(parts.nbytes() == 0);
    CHECK(written(parts).empty());
    parts.copy("copied ");
    parts.copy(Bytes(100'000, 'x'));
    parts.range(source, 3, 4);
    parts.zeros(2);
    const std::string expected =
        "copied " + std::string(100'000, 'x') + "3456" + std::string(2, '\0');
    CHECK(parts.nbytes() == expected.size());
    CHECK(written(parts) == expected);
    CHECK(parts.sources().size() == 1);
}

TEST_CASE("file_content: neighbours that continue each other are one part") {
    const auto one = source_of("0123456789");
    const auto other = source_of("0123456789");
    FileContent parts;
    parts.range(one, 0, 2);
    parts.range(one, 2, 3);
    CHECK(parts.list().size() == 1);
    parts.range(one, 6, 1);
    parts.range(other, 7, 1);
    CHECK(parts.list().size() == 3);
    CHECK(parts.sources().size() == 2);
    parts.copy("a");
    parts.copy("b");
    CHECK(parts.list().size() == 4);
    parts.zeros(1);
    parts.zeros(5);
    CHECK(parts.list().size() == 5);
    parts.range(other, 7, 1);
    CHECK(parts.list().size() == 6);
    CHECK(parts.list().front().kind() == ContentPart::Kind::range);
    CHECK(parts.list().front().nbytes() == 5);
    CHECK(parts.sources().size() == 2);
    CHECK(written(parts) == "0123467ab" + std::string(6, '\0') + "7");
}

TEST_CASE("file_content: empty ones leave no trace") {
    const auto source = source_of("0");
    FileContent parts;
    parts.copy("");
    parts.range(source, 1, 0);
    parts.zeros(0);
    CHECK(parts.list().empty());
    CHECK(parts.nbytes() == 0);
    CHECK(source.use_count() == 1);
}

TEST_CASE("file_content: they hold their sources") {
    auto source = source_of("0123456789");
    const std::weak_ptr<const source::Source> held = source;
    {
        FileContent first;
        first.range(source, 2, 3);
        source.reset();
        const FileContent parts = std::move(first);
        CHECK(!held.expired());
        CHECK(written(parts) == "234");
    }
    CHECK(held.expired());
}

TEST_CASE("file_content: a list that was moved from is empty and can be used again") {
    FileContent parts = parts_of("old");
    const FileContent taken = std::move(parts);
    CHECK(parts.nbytes() == 0);
    CHECK(parts.list().empty());
    parts.copy("new");
    CHECK(written(taken) == "old");
    CHECK(written(parts) == "new");
}

TEST_CASE("file_content: a model of 70 000 tensors needs little memory") {
    CHECK(sizeof(ContentPart) <= 40);
    const auto source = source_of(std::string(200'000, 'x'));
    FileContent parts;
    for (std::uint64_t i = 0; i < 70'000; ++i) {
        parts.copy("header");
        parts.range(source, 2 * i, 1);
    }
    CHECK(parts.list().size() == 140'000);
    // Copies that were far apart would be as many blocks.
    std::size_t jumps = 0;
    for (std::size_t i = 2; i < parts.list().size(); i += 2) {
        const ByteView before = parts.list()[i - 2].memory();
        jumps += before.data() + before.size() != parts.list()[i].memory().data();
    }
    CHECK(jumps < 10);
    CHECK(parts.sources().size() == 1);
}

TEST_CASE("file_content: copies of any size are the bytes that were copied") {
    FileContent parts;
    std::string expected;
    for (const std::size_t size : {1U, 16'384U, 16'385U, 65'536U, 3U, 200'000U, 65'535U, 2U}) {
        const std::string text(size, static_cast<char>('a' + expected.size() % 26));
        parts.copy(text);
        parts.zeros(1);
        expected += text + '\0';
    }
    CHECK(written(parts) == expected);
}

TEST_CASE("file_content: more bytes than an offset can count are an error") {
    const std::uint64_t most = INT64_MAX;
    FileContent parts;
    parts.zeros(most);
    CHECK(parts.nbytes() == most);
    const auto add = [&](std::uint64_t nbytes) {
        return code_of([&] {
            parts.zeros(nbytes);
            return 0;
        });
    };
    CHECK(add(1) == "save.too_large");
    CHECK(add(UINT64_MAX) == "save.too_large");
    CHECK(code_of([&] {
              parts.copy("x");
              return 0;
          }) == "save.too_large");
    CHECK(parts.nbytes() == most);
    CHECK(parts.list().size() == 1);
}

}  // namespace onnxmap::test
