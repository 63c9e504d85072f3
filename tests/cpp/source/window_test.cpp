#include "source/window.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>

#include "caught.hpp"
#include "random_bytes.hpp"
#include "temporary_folder.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

TEST_CASE("window: sequential reads grow") {
    source::WindowSize ahead;
    std::uint64_t offset = 0;
    std::uint64_t before = 0;
    for (int i = 0; i < 12; ++i) {
        const std::uint64_t nbytes = ahead.next(offset, 16);
        CHECK(nbytes >= before);
        CHECK(nbytes <= source::WindowSize::kMost);
        offset += nbytes;
        before = nbytes;
    }
    CHECK(before == source::WindowSize::kMost);
}

TEST_CASE("window: after a jump it reads little, but always what is needed") {
    source::WindowSize ahead;
    static_cast<void>(ahead.next(0, 16));
    CHECK(ahead.next(1 << 30, 16) == source::WindowSize::kLeast);
    CHECK(ahead.next(1ULL << 40, 1 << 20) == 1 << 20);
    // Skipping a few kilobytes is not a jump.
    const std::uint64_t here = (1ULL << 40) + (1 << 20);
    CHECK(ahead.next(here + source::WindowSize::kNear, 16) > source::WindowSize::kLeast);
    CHECK(ahead.next((1ULL << 41), 16) == source::WindowSize::kLeast);
}

TEST_CASE("window: gives the bytes of the file at any offset") {
    const TemporaryFolder folder;
    const Bytes bytes = random_bytes(500'000);
    const auto file =
        std::make_shared<const os::File>(os::File::open(folder.write("f", ByteView(bytes))));
    source::WindowFeed feed(file);
    CHECK(feed.size() == bytes.size());
    std::mt19937_64 random(6);
    for (int round = 0; round < 500; ++round) {
        const std::uint64_t offset = random() % bytes.size();
        const std::uint64_t least = 1 + random() % (round % 10 == 0 ? 300'000 : 30);
        const ByteView view = feed.at(offset, least);
        REQUIRE(view.size() >= std::min(least, bytes.size() - offset));
        REQUIRE(view.size() <= bytes.size() - offset);
        REQUIRE(std::equal(view.begin(), view.end(),
                           bytes.begin() + static_cast<std::ptrdiff_t>(offset)));
    }
}

TEST_CASE("window: a file that became shorter gives an error, and no old bytes") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", ByteView(random_bytes(100'000)));
    const auto file = std::make_shared<const os::File>(os::File::open(path));
    source::WindowFeed feed(file);
    static_cast<void>(feed.at(0, 16));
    std::filesystem::resize_file(path, 50'000);
    const auto error = error_of([&] { return feed.at(60'000, 16); });
    REQUIRE(error);
    CHECK(error->code == "file.changed");
    CHECK(error->file == path);
}

}  // namespace onnxmap::test
