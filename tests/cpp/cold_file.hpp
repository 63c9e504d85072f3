// A file that is on disk and not in the page cache, and what a mapping of the test's own says of
// it.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "io/page_cache.hpp"
#include "opened.hpp"
#include "temporary_folder.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

[[nodiscard]] inline std::uint64_t page() { return io::page_size(); }

// Zeros are what a page has that is no page of the file.
[[nodiscard]] inline Bytes bytes_of(std::size_t count) {
    Bytes bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(1 + i % 251);
    return bytes;
}

/// Whether dropping the file from the page cache does anything: on a tmpfs it is nowhere else.
[[nodiscard]] inline bool drops_pages(const std::string& path) {
    struct statfs status{};
    REQUIRE(::statfs(path.c_str(), &status) == 0);
    return status.f_type != 0x01021994;  // TMPFS_MAGIC
}

// struct cachestat of linux/mman.h, in pages.
struct Cachestat {
    std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

/// From Linux 6.5 on; otherwise nothing.
[[nodiscard]] inline std::optional<Cachestat> cachestat(int descriptor, std::uint64_t offset,
                                                        std::uint64_t nbytes) {
    struct {
        std::uint64_t offset, nbytes;
    } const range{offset, nbytes};
    Cachestat found{};
    constexpr long kCachestat = 451;
    if (::syscall(kCachestat, descriptor, &range, &found, 0) != 0) return std::nullopt;
    return found;
}

struct ColdFile {
    ColdFile(std::uint64_t nbytes, io::IoMode mode, const std::string& folder_of = {})
        : bytes(bytes_of(nbytes)) {
        path = folder_of.empty() ? folder.write("f", ByteView(bytes)) : folder_of;
        if (!folder_of.empty()) std::ofstream(path, std::ios::binary) << as_text(ByteView(bytes));
        descriptor = io::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        REQUIRE(::fsync(descriptor.number()) == 0);
        drop();
        // One page at a time: large folios come and go as one.
        REQUIRE(::posix_fadvise(descriptor.number(), 0, 0, POSIX_FADV_RANDOM) == 0);
        source = open_source(path, mode);
    }

    void drop() const {
        REQUIRE(::posix_fadvise(descriptor.number(), 0, 0, POSIX_FADV_DONTNEED) == 0);
    }

    [[nodiscard]] bool on_disk() const { return drops_pages(path); }

    /// Brings the pages first .. last into the page cache, each by itself.
    void bring(std::uint64_t first, std::uint64_t last) const {
        std::uint8_t byte = 0;
        for (std::uint64_t i = first; i < last; ++i) {
            REQUIRE(::pread(descriptor.number(), &byte, 1, static_cast<off_t>(i * page())) == 1);
        }
    }

    [[nodiscard]] std::vector<bool> pages_there() const {
        void* const address =
            ::mmap(nullptr, bytes.size(), PROT_NONE, MAP_SHARED, descriptor.number(), 0);
        REQUIRE(address != MAP_FAILED);
        std::vector<unsigned char> states((bytes.size() + page() - 1) / page());
        REQUIRE(::mincore(address, bytes.size(), states.data()) == 0);
        ::munmap(address, bytes.size());
        std::vector<bool> there;
        for (const unsigned char state : states) there.push_back((state & 1) != 0);
        return there;
    }

    [[nodiscard]] std::uint64_t count_there() const {
        const auto there = pages_there();
        return static_cast<std::uint64_t>(std::count(there.begin(), there.end(), true));
    }

    [[nodiscard]] std::optional<Cachestat> cachestat(std::uint64_t first,
                                                     std::uint64_t last) const {
        return test::cachestat(descriptor.number(), first * page(), (last - first) * page());
    }

    /// How many of the pages first .. last are there or on their way, where Linux tells that;
    /// otherwise, how many are there.
    [[nodiscard]] std::uint64_t asked_for(std::uint64_t first, std::uint64_t last) const {
        if (const auto found = cachestat(first, last)) return found->cached + found->evicted;
        const auto there = pages_there();
        const auto begin = there.begin();
        return static_cast<std::uint64_t>(std::count(begin + static_cast<std::ptrdiff_t>(first),
                                                     begin + static_cast<std::ptrdiff_t>(last),
                                                     true));
    }

    /// Waits until that many pages from `first` on are there, or have been: the kernel may evict
    /// some at any moment. Nobody tells when they have come.
    [[nodiscard]] bool comes(std::uint64_t first, std::uint64_t count) const {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (std::chrono::steady_clock::now() < give_up) {
            const auto there = pages_there();
            const auto begin = there.begin() + static_cast<std::ptrdiff_t>(first);
            const auto absent =
                std::count(begin, begin + static_cast<std::ptrdiff_t>(count), false);
            const auto found = cachestat(first, first + count);
            if (static_cast<std::uint64_t>(absent) <= (found ? found->evicted : 0)) return true;
            std::this_thread::yield();
        }
        return false;
    }

    /// Touches every byte through the source.
    [[nodiscard]] bool reads_right() const {
        Bytes found(bytes.size());
        source->read(0, found);
        return found == bytes;
    }

    TemporaryFolder folder;
    Bytes bytes;
    std::string path;
    io::Descriptor descriptor;
    std::shared_ptr<io::Source> source;
};

}  // namespace onnxmap::test
