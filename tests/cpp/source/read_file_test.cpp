#include "source/read_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "caught.hpp"
#include "opened.hpp"
#include "random_bytes.hpp"
#include "sample_models.hpp"
#include "structure_of.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

// The source of a model's file. It has addresses, because a feed was made to read the structure.
std::unique_ptr<source::ReadFile> open_file(const std::string& path) {
    auto file = std::make_unique<source::ReadFile>(os::File::open(path), os::path_locator(path));
    static_cast<void>(file->feed());
    return file;
}

}  // namespace

TEST_CASE("read_file: exactly the requested ranges are read") {
    const TemporaryFolder folder;
    const Bytes bytes = random_bytes(20'000);
    const auto file = open_file(folder.write("f", ByteView(bytes)));
    std::vector<bool> asked(bytes.size());
    std::mt19937_64 random(7);
    for (int round = 0; round < 300; ++round) {
        const std::uint64_t offset = random() % bytes.size();
        const std::uint64_t nbytes = std::min<std::uint64_t>(random() % 200, bytes.size() - offset);
        if (random() % 2 == 0) {
            static_cast<void>(file->resident(offset, nbytes));
        } else {
            const source::Source& source = *file;
            const ByteView view = source.resident(source.bytes().subspan(offset, nbytes));
            REQUIRE((view.empty() || view.data() == file->data() + offset));
            REQUIRE(view.size() == nbytes);
        }
        std::fill_n(asked.begin() + static_cast<std::ptrdiff_t>(offset), nbytes, true);
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            if (file->data()[i] != (asked[i] ? bytes[i] : 0)) FAIL("byte " << i << " is wrong");
        }
    }
}

TEST_CASE("read_file: bytes that a view may show are not read again") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "aaaaaaaaaaaaaaaa");
    const auto file = open_file(path);
    static_cast<void>(file->resident(2, 3));
    static_cast<void>(file->resident(8, 2));
    static_cast<void>(file->resident(5, 1));  // next to the first range
    folder.write("f", "bbbbbbbbbbbbbbbb");
    static_cast<void>(file->resident(0, 12));
    CHECK(as_text(file->bytes()) == std::string_view("bbaaaabbaabb\0\0\0\0", 16));
    static_cast<void>(file->resident(0, 16));
    CHECK(as_text(file->bytes()) == "bbaaaabbaabbbbbb");
}

TEST_CASE("read_file: a range that could not be read is read once the bytes are there again") {
    const TemporaryFolder folder;
    const Bytes bytes = random_bytes(10'000);
    const std::string path = folder.write("f", ByteView(bytes));
    const auto file = open_file(path);
    std::filesystem::resize_file(path, 5'000);
    const auto error = error_of([&] {
        static_cast<void>(file->resident(4'000, 2'000));
        return 0;
    });
    REQUIRE(error);
    CHECK(error->code == "file.changed");
    CHECK(error->file == path);
    folder.write("f", ByteView(bytes));
    CHECK(shows(file->resident(0, bytes.size()), bytes, 0));
}

TEST_CASE("read_file: after loading, the structure is in memory and the payload is not") {
    const TemporaryFolder folder;
    const Bytes payload(50'000, 0x77);
    const Bytes bytes = model(join(blob(1, node("Conv")), blob(5, raw_tensor("w", payload)),
                                   blob(5, raw_tensor("v", payload)), blob(2, "graph")));
    const auto file = open_file(folder.write("f", ByteView(bytes)));
    const auto feed = file->feed();
    const auto structure = model_structure(*feed);
    REQUIRE(structure.child_parts.size() == 1);
    const auto missing = std::count(file->bytes().begin(), file->bytes().end(), 0) -
                         std::count(bytes.begin(), bytes.end(), 0);
    CHECK(missing > 50'000);
    // The graph's name is behind both payloads.
    CHECK(file->bytes()[bytes.size() - 1] == bytes.back());
}

TEST_CASE("read_file: many threads may request overlapping ranges") {
    const TemporaryFolder folder;
    const Bytes bytes = random_bytes(1 << 20);
    const std::string path = folder.write("f", ByteView(bytes));
    for (int round = 0; round < 3; ++round) {
        const auto file = open_file(path);
        std::atomic<int> wrong = 0;
        std::vector<std::thread> threads;
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
            threads.emplace_back([&, seed] {
                std::mt19937_64 random(seed);
                for (int i = 0; i < 200; ++i) {
                    const std::uint64_t offset = random() % bytes.size();
                    const std::uint64_t nbytes =
                        std::min<std::uint64_t>(random() % 20'000, bytes.size() - offset);
                    const ByteView view = file->resident(offset, nbytes);
                    if (!shows(view, bytes, offset)) ++wrong;
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        CHECK(wrong == 0);
    }
}

}  // namespace onnxmap::test
