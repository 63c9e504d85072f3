#include "source/owned_bytes.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <string>

#include "caught.hpp"
#include "os/file.hpp"
#include "temporary_folder.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

constexpr std::uint64_t kMiB = 1 << 20;

std::uint64_t address_of(const source::OwnedBytes& bytes) {
    return reinterpret_cast<std::uintptr_t>(bytes.data());
}

// The number of bytes of address space that this process uses.
std::uint64_t mapped_nbytes() {
    std::ifstream statm("/proc/self/statm");
    std::uint64_t pages = 0;
    statm >> pages;
    return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("owned_bytes: aligned to a cache line, whatever the size") {
    for (const std::uint64_t size : {0ULL, 1ULL, 63ULL, 64ULL, 65ULL, 4095ULL, 100'001ULL}) {
        source::OwnedBytes bytes(size);
        CAPTURE(size);
        CHECK(bytes.size() == size);
        CHECK(bytes.writable().size() == size);
        CHECK(bytes.writable().data() == bytes.data());
        CHECK(address_of(bytes) % 64 == 0);
        CHECK(bytes.viewable());
        CHECK(std::string(bytes.kind()) == "buffer");
        CHECK(bytes.path().empty());
        std::ranges::fill(bytes.writable(), 0xab);  // all of it can be written
        CHECK(std::ranges::all_of(bytes.bytes(), [](auto byte) { return byte == 0xab; }));
    }
}

TEST_CASE(
    "owned_bytes: large ones have whole pages, from a multiple of 2 MiB on, and give them back") {
    const std::uint64_t before = mapped_nbytes();
    for (int round = 0; round < 20; ++round) {
        for (const std::uint64_t size : {4 * kMiB, 4 * kMiB + 1, 6 * kMiB - 1, 9 * kMiB + 5000}) {
            source::OwnedBytes bytes(size);
            CAPTURE(size);
            CHECK(bytes.size() == size);
            CHECK(address_of(bytes) % (2 * kMiB) == 0);
            bytes.writable().front() = 1;
            bytes.writable().back() = 2;
            CHECK(bytes.bytes().front() == 1);
            CHECK(bytes.bytes().back() == 2);
            // At the end, only the needed pages are still reserved. (Sanitizers take some of their
            // own.)
            CHECK(mapped_nbytes() < before + 2 * size + 8 * kMiB);
        }
    }
    CHECK(mapped_nbytes() < before + 8 * kMiB);
    // Slightly smaller arrays come from the heap.
    CHECK(address_of(source::OwnedBytes(4 * kMiB - 1)) % 64 == 0);
}

TEST_CASE("owned_bytes: more memory than there is raises an exception") {
    for (const std::uint64_t size :
         {std::uint64_t{1} << 62, std::uint64_t{INT64_MAX}, std::uint64_t{1} << 63, UINT64_MAX}) {
        CAPTURE(size);
        CHECK_THROWS_AS(source::OwnedBytes{size}, std::bad_alloc);
    }
}

TEST_CASE("owned_bytes: writes to copy-on-write pages do not change the file") {
    const TemporaryFolder folder;
    std::string text(20'000, '.');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 26);
    const std::string path = folder.write("f", text);
    for (const std::uint64_t offset : {0ULL, 1ULL, 4095ULL, 4096ULL, 5000ULL, 19'999ULL}) {
        for (const std::uint64_t nbytes : {1ULL, 100ULL, 4096ULL, 9000ULL, 20'000ULL}) {
            if (offset + nbytes > text.size()) continue;
            CAPTURE(offset);
            CAPTURE(nbytes);
            std::shared_ptr<source::OwnedBytes> bytes;
            {
                const auto file = os::File::open(path);
                bytes = source::OwnedBytes::map_private(file, offset, nbytes);
            }
            CHECK(mappings_of(path) == 1);  // the file can be closed
            CHECK(as_text(bytes->bytes()) == std::string_view(text).substr(offset, nbytes));
            std::ranges::fill(bytes->writable(), 0);
            CHECK(std::ranges::all_of(bytes->bytes(), [](auto byte) { return byte == 0; }));
            CHECK(contents(path) == text);
        }
    }
    CHECK(mappings_of(path) == 0);
}

TEST_CASE("owned_bytes: copy-on-write pages do not see the writes to others") {
    const TemporaryFolder folder;
    const auto file = os::File::open(folder.write("f", "abc"));
    const auto one = source::OwnedBytes::map_private(file, 0, 3);
    const auto other = source::OwnedBytes::map_private(file, 0, 3);
    one->writable()[0] = 'X';
    CHECK(as_text(one->bytes()) == "Xbc");
    CHECK(as_text(other->bytes()) == "abc");
}

TEST_CASE("owned_bytes: an error if the pages cannot be mapped") {
    const TemporaryFolder folder;
    const auto file = os::File::open(folder.write("f", "abc"));
    CHECK(errno_of([&] { return source::OwnedBytes::map_private(file, 0, 1ULL << 62); }) == ENOMEM);
}

}  // namespace onnxmap::test
