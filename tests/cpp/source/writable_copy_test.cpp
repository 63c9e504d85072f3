// Source::writable_copy for each kind of source.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "caught.hpp"
#include "memory_source.hpp"
#include "opened.hpp"
#include "os/file.hpp"
#include "source/owned_bytes.hpp"
#include "source/source.hpp"
#include "temporary_folder.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

constexpr std::size_t kSize = 300'000;  // large enough for a mapping of its own

Bytes pattern() {
    Bytes bytes(kSize);
    for (std::size_t i = 0; i < kSize; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
    return bytes;
}

// Writes to several parts of a copy. Returns whether the copy had the right bytes and the source
// still has them.
bool copies_are_private(const source::Source& source) {
    const Bytes expected = pattern();
    bool good = true;
    for (const std::uint64_t offset : {0ULL, 1ULL, 4096ULL, 5001ULL}) {
        for (const std::uint64_t nbytes : {0ULL, 1ULL, 1000ULL, 140'000ULL, 294'999ULL}) {
            const auto copy = source.writable_copy(offset, nbytes);
            good = good && copy->size() == nbytes &&
                   join(copy->bytes()) == join(ByteView(expected).subspan(offset, nbytes));
            std::ranges::fill(copy->writable(), 0);
            Bytes again(nbytes);
            source.read(offset, again);
            good = good && again == join(ByteView(expected).subspan(offset, nbytes));
        }
    }
    return good;
}

}  // namespace

TEST_CASE("writable_copy: a mapping, a file that is read and a buffer can be copied") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", ByteView(pattern()));
    const std::size_t descriptors = open_descriptors();
    {
        const auto kept = open_source(path, source::IoMode::mmap);
        const auto reopened = open_source(path, source::IoMode::mmap);
        const auto copied = open_source(path, source::IoMode::read);
        CHECK(copies_are_private(*kept));
        os::close_held();
        CHECK(copies_are_private(*reopened));
        CHECK(copies_are_private(*copied));
        CHECK(copies_are_private(MemorySource(pattern())));
        CHECK(mappings_of(path) == 2);
        // Large copies are pages of the file, small ones are heap memory.
        const auto pages = kept->writable_copy(1, 200'000);
        CHECK(mappings_of(path) == 3);
        const auto small = kept->writable_copy(1, 1000);
        CHECK(mappings_of(path) == 3);
    }
    CHECK(mappings_of(path) == 0);
    CHECK(open_descriptors() == descriptors);
    std::ifstream in(path, std::ios::binary);
    const std::string now{std::istreambuf_iterator<char>(in), {}};
    CHECK(join(as_bytes(now)) == pattern());
}

TEST_CASE("writable_copy: of a file that was replaced or deleted, it has the old bytes") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", ByteView(pattern()));
    const auto source = open_source(path, source::IoMode::mmap);
    folder.write("new", ByteView(Bytes(kSize, 1)));
    std::filesystem::rename(folder / "new", path);
    for (const bool deleted : {false, true}) {
        CAPTURE(deleted);
        if (deleted) std::filesystem::remove(path);
        if (!deleted) {
            // With the descriptor open, the copy has pages of the file that once had the name.
            const auto pages = source->writable_copy(1, 200'000);
            CHECK(mappings_of(path) == 2);
            CHECK(join(pages->bytes()) == join(ByteView(pattern()).subspan(1, 200'000)));
        }
        os::close_held();
        const auto copy = source->writable_copy(1, 200'000);
        CHECK(mappings_of(path) == 1);
        CHECK(join(copy->bytes()) == join(ByteView(pattern()).subspan(1, 200'000)));
    }
}

TEST_CASE("writable_copy: pages of a file that was written to are refused") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", ByteView(pattern()));
    const auto source = open_source(path, source::IoMode::mmap);
    const auto code = [&] {
        return code_of([&] { return source->writable_copy(0, 200'000)->size(); });
    };
    CHECK(code() == "accepted");
    std::ofstream(path, std::ios::binary | std::ios::app) << "more";
    CHECK(code() == "file.changed");
    os::close_held();
    CHECK(code() == "file.changed");
}

}  // namespace onnxmap::test
