// Most cases use a fake page cache; see fake_page_cache.hpp.
#include "source/page_cache.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "cold_file.hpp"
#include "memory_source.hpp"
#include "os/descriptor.hpp"
#include "os/descriptor_pool.hpp"
#include "plain_os.hpp"
#include "source/owned_bytes.hpp"

namespace onnxmap::test {

namespace {

constexpr source::IoMode kModes[] = {source::IoMode::mmap, source::IoMode::read};

using What = FakePageCache::What;
using Request = FakePageCache::Request;
using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Runs absent(const source::Source& source, std::uint64_t begin, std::uint64_t end) {
    Runs runs;
    source::for_each_absent(source, begin, end, [&](std::uint64_t first, std::uint64_t last) {
        runs.emplace_back(first, last);
    });
    return runs;
}

// Asks the kernel to evict the file from the page cache.
void really_drop(const std::string& path) {
    const os::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(::fsync(file.number()) == 0);
    REQUIRE(::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED) == 0);
}

// Which pages the kernel's own page cache holds.
std::vector<bool> really_held(const std::string& path) {
    const os::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const std::uint64_t nbytes = std::filesystem::file_size(path);
    void* const address = ::mmap(nullptr, nbytes, PROT_NONE, MAP_SHARED, file.number(), 0);
    REQUIRE(address != MAP_FAILED);
    std::vector<unsigned char> states((nbytes + page() - 1) / page());
    REQUIRE(::mincore(address, nbytes, states.data()) == 0);
    ::munmap(address, nbytes);
    std::vector<bool> held;
    for (const unsigned char state : states) held.push_back((state & 1) != 0);
    return held;
}

// How many bytes of the mapping at `address` are in this process's memory.
std::uint64_t mapped_in(const std::uint8_t* address) {
    std::ifstream smaps("/proc/self/smaps");
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    bool here = false;
    for (std::string line; std::getline(smaps, line);) {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        unsigned kilobytes = 0;
        // NOLINTNEXTLINE(cert-err34-c)
        if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
            here = begin <= wanted && wanted < end;
            // NOLINTNEXTLINE(cert-err34-c)
        } else if (here && std::sscanf(line.c_str(), "Rss: %u kB", &kilobytes) == 1) {
            return std::uint64_t{kilobytes} << 10;
        }
    }
    return 0;
}

}  // namespace

TEST_CASE("page_cache: residency is told page by page") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    for (const source::IoMode mode : kModes) {
        CAPTURE(static_cast<int>(mode));
        ColdFile file(40 * page() + 100, mode);
        file.bring(3, 6);
        file.bring(8, 9);
        file.bring(40, 41);
        CHECK(absent(*file.source, 0, file.bytes.size()) ==
              Runs{{0, 3 * page()}, {6 * page(), 8 * page()}, {9 * page(), 40 * page()}});
        // Whole pages are told, whatever range was given.
        CHECK(absent(*file.source, page() + 7, 3 * page() + 1) == Runs{{page(), 3 * page()}});
        CHECK(absent(*file.source, 3 * page(), 6 * page()).empty());
        CHECK(absent(*file.source, 5, 5).empty());
        CHECK(source::resident_bytes(*file.source, 0, file.bytes.size()) == 4 * page() + 100);
        // Residency is counted in bytes, not in pages.
        CHECK(source::resident_bytes(*file.source, 4 * page() - 10, 20) == 20);
        CHECK(source::resident_bytes(*file.source, 6 * page() - 10, 20) == 10);
        CHECK(source::resident_bytes(*file.source, 40 * page() + 90, 10) == 10);
        CHECK(source::resident_bytes(*file.source, 10 * page(), 0) == 0);
    }
}

TEST_CASE("page_cache: residency agrees with the test's own mapping in the kernel's cache") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    for (const source::IoMode mode : kModes) {
        CAPTURE(static_cast<int>(mode));
        const TemporaryFolder folder;
        const std::string path = folder.write("f", ByteView(bytes_of(40 * page() + 100)));
        really_drop(path);
        const auto source = open_source(path, mode);
        std::uint8_t byte = 0;
        for (const std::uint64_t i : {3U, 4U, 8U, 40U}) source->read_file(i * page(), {&byte, 1});
        // No other process reads the file. Pages can leave the cache meanwhile, but none can come.
        const auto before = really_held(path);
        std::vector<bool> told(before.size(), true);
        for (const auto& [begin, end] : absent(*source, 0, source->size())) {
            std::fill(told.begin() + static_cast<std::ptrdiff_t>(begin / page()),
                      told.begin() + static_cast<std::ptrdiff_t>((end + page() - 1) / page()),
                      false);
        }
        const auto after = really_held(path);
        for (std::size_t i = 0; i < told.size(); ++i) {
            CAPTURE(i);
            CHECK(told[i] <= before[i]);
            CHECK(told[i] >= after[i]);
        }
    }
}

TEST_CASE("page_cache: the last page of a file ends with the file") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    for (const source::IoMode mode : kModes) {
        ColdFile file(2 * page() + 100, mode);
        CHECK(absent(*file.source, 2 * page(), file.bytes.size()) ==
              Runs{{2 * page(), 2 * page() + 100}});
        file.bring(0, 3);
        source::evict(*file.source, 2 * page() + 1, 99);
        CHECK(file.cache.pages_held() == std::vector<bool>{true, true, true});
        source::evict(*file.source, 2 * page(), 100);
        CHECK(file.cache.pages_held() == std::vector<bool>{true, true, false});
    }
}

TEST_CASE("page_cache: evicting drops exactly the whole pages within the range") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    for (const source::IoMode mode : kModes) {
        ColdFile file(40 * page(), mode);
        file.bring(0, 40);
        source::evict(*file.source, 100, page() - 100);
        source::evict(*file.source, 30 * page() + 1, 2 * page() - 2);
        source::evict(*file.source, 35 * page(), 0);
        CHECK(file.cache.requests().empty());
        source::evict(*file.source, 5 * page() + 1, 5 * page());
        const Request dropped{What::dropped, 6 * page(), 10 * page()};
        CHECK(file.cache.joined(What::dropped) == std::vector{dropped});
        CHECK(file.reads_right());
    }
}

TEST_CASE("page_cache: evicting also drops pages that this process has touched") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    ColdFile file(40 * page(), source::IoMode::mmap);
    file.cache.touch(*file.source, 0, file.bytes.size());
    source::release(*file.source, 0, file.bytes.size());
    CHECK(mapped_in(file.source->data()) == 0);
    CHECK(file.held() == file.bytes.size());
    CHECK(file.reads_right());
    file.cache.touch(*file.source, 0, file.bytes.size());
    source::evict(*file.source, 0, file.bytes.size());
    CHECK(mapped_in(file.source->data()) == 0);
    CHECK(file.held() == 0);
    CHECK(file.reads_right());
}

TEST_CASE("page_cache: releasing keeps pages that others need") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    ColdFile file(40 * page(), source::IoMode::mmap);
    file.cache.touch(*file.source, 0, file.bytes.size());
    source::release(*file.source, 10 * page() + 1, 3 * page());
    CHECK(file.cache.requests() == std::vector{Request{What::released, 11 * page(), 13 * page()}});
}

TEST_CASE("page_cache: populating maps the range, rounded to whole pages") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    ColdFile file(40 * page() + 100, source::IoMode::mmap);
    static_cast<void>(source::populate(*file.source, 3 * page() + 1, 2 * page()));
    static_cast<void>(source::populate(*file.source, 39 * page(), page() + 100));
    CHECK(file.cache.requests() ==
          std::vector{Request{What::mapped, 3 * page(), 6 * page()},
                      Request{What::mapped, 39 * page(), 40 * page() + 100}});
    const ColdFile unmapped(4 * page(), source::IoMode::read);
    CHECK(source::populate(*unmapped.source, 0, 4 * page()));
    CHECK(unmapped.cache.requests().empty());
}

TEST_CASE("page_cache: prefetching brings all requested pages, even if one request cannot") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    for (const source::IoMode mode : kModes) {
        const ColdFile file(32 << 20, mode);
        source::prefetch(*file.source, 0, 0);
        source::prefetch(*file.source, (16 << 20) + 5, (16 << 20) - 5);
        CHECK(file.cache.held(16 << 20, 32 << 20) == 16 << 20);
        CHECK(file.cache.held(0, 16 << 20) == 0);
        CHECK(file.reads_right());
    }
}

TEST_CASE("page_cache: memory that does not map a file stays as it is") {
    const Bytes bytes = bytes_of(3 * page());
    const MemorySource memory(bytes);
    const TemporaryFolder folder;
    const auto file = os::File::open(folder.write("f", ByteView(bytes_of(64 * page()))));
    const auto pages = source::OwnedBytes::map_private(file, 0, 64 * page());
    std::fill(pages->writable().begin(), pages->writable().end(), 7);
    for (const source::Source* source : {static_cast<const source::Source*>(&memory),
                                         static_cast<const source::Source*>(pages.get())}) {
        const Bytes before(source->bytes().begin(), source->bytes().end());
        CHECK(source::resident_bytes(*source, 1, source->size() - 1) == source->size() - 1);
        CHECK(absent(*source, 0, source->size()).empty());
        source::prefetch(*source, 0, source->size());
        source::release(*source, 0, source->size());
        source::evict(*source, 0, source->size());
        CHECK(std::equal(before.begin(), before.end(), source->bytes().begin()));
    }
}

TEST_CASE("page_cache: a deleted file is still mapped, so it can be asked about") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const ColdFile file(40 * page(), source::IoMode::mmap);
    std::filesystem::remove(file.path);
    os::close_held();
    CHECK(source::resident_bytes(*file.source, 0, file.bytes.size()) == 0);
    source::prefetch(*file.source, 0, file.bytes.size());
    CHECK(source::resident_bytes(*file.source, 0, file.bytes.size()) == file.bytes.size());
    REQUIRE(file.reads_right());
    source::evict(*file.source, 0, file.bytes.size());  // no descriptor is left to ask with
    CHECK(file.cache.joined(What::dropped).empty());
    CHECK(mapped_in(file.source->data()) == 0);
    CHECK(file.reads_right());
}

TEST_CASE("page_cache: a deleted file that was read, and not mapped, cannot be asked about") {
    const ColdFile file(4 * page(), source::IoMode::read);
    std::filesystem::remove(file.path);
    os::close_held();
    CHECK(code_of([&] { return source::resident_bytes(*file.source, 0, 10); }) == "file.changed");
    CHECK(code_of([&] {
              source::prefetch(*file.source, 0, 10);
              return 0;
          }) == "file.changed");
    source::evict(*file.source, 0, file.bytes.size());
}

TEST_CASE("page_cache: the read-ahead is what the system says of the disk") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const ColdFile file(page(), source::IoMode::mmap);
    struct stat status{};
    REQUIRE(::stat(file.path.c_str(), &status) == 0);
    std::uint64_t told = 0;
    // Every disk has a folder here. A partition's folder is within that of its disk.
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/class/block", none)) {
        std::string device;
        std::ifstream(entry.path() / "dev") >> device;
        if (device !=
            std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev))) {
            continue;
        }
        auto disk = std::filesystem::canonical(entry.path());
        if (!std::filesystem::exists(disk / "queue")) disk = disk.parent_path();
        std::ifstream(disk / "queue/read_ahead_kb") >> told;
    }
    if (told > 0) CHECK(source::read_ahead_nbytes(*file.source) == told << 10);
    const Bytes bytes = bytes_of(page());
    CHECK(source::read_ahead_nbytes(MemorySource(bytes)) == 0);
}

TEST_CASE("page_cache: a file on a tmpfs stays in memory") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const std::string path = "/dev/shm/onnxmap_page_cache_" + std::to_string(::getpid());
    if (::access("/dev/shm", W_OK) != 0) return;
    const Bytes bytes = bytes_of(40 * page());
    for (const source::IoMode mode : kModes) {
        std::ofstream(path, std::ios::binary) << as_text(ByteView(bytes));
        const auto source = open_source(path, mode);
        source::evict(*source, 0, bytes.size());
        Bytes found(bytes.size());
        source->read(0, found);
        CHECK(found == bytes);
        std::filesystem::remove(path);
    }
}

}  // namespace onnxmap::test
