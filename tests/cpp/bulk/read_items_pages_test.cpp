// The requests about the pages of a file when many tensors are read into arrays; see
// fake_page_cache.hpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "bulk/read_items.hpp"
#include "bulk_model.hpp"
#include "cold_file.hpp"
#include "external_plan.hpp"
#include "needs_linux.hpp"
#include "os/parallel.hpp"

namespace onnxmap::test {

namespace {

using What = FakePageCache::What;
using Request = FakePageCache::Request;

constexpr std::uint64_t kFile = 12 << 20;

std::uint64_t far(const source::Source&) { return 1 << 20; }
std::uint64_t nothing(const source::Source&) { return 0; }

// Tensors of 5 MiB, 5 MiB and 2 MiB in one data file that is not in memory.
struct DataFile {
    explicit DataFile(FakePageCache::Kernel kernel = {},
                      const std::vector<std::uint64_t>& tensors = {5 << 20, 5 << 20, 2 << 20})
        : bytes(bytes_of(std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0}))),
          cache(folder.write("w", ByteView(bytes)), kernel) {
        Bytes graph;
        std::uint64_t offset = 0;
        for (const std::uint64_t nbytes : tensors) {
            append(graph, blob(5, external_tensor(std::to_string(offset), "w", offset, nbytes)));
            offset += nbytes;
        }
        plan = external_plan(folder, graph, all(tensors.size()), {});
    }

    [[nodiscard]] static std::vector<std::uint32_t> all(std::size_t count) {
        std::vector<std::uint32_t> numbers(count);
        std::iota(numbers.begin(), numbers.end(), 0U);
        return numbers;
    }

    /// Whether all arrays are right.
    [[nodiscard]] bool reads_right(bulk::ReadAhead::Ask of, const bulk::OnAbsent& told = {}) {
        std::atomic<std::uint64_t> done = 0;
        const auto memory = bulk::read_items(*plan, plan->items(), done, told, of);
        Bytes found;
        for (const source::ArrayMemory& array : memory) append(found, join(ByteView(array.bytes)));
        return found == bytes;
    }

    TemporaryFolder folder;
    Bytes bytes;
    FakePageCache cache;
    std::unique_ptr<bulk::Plan> plan;
};

}  // namespace

TEST_CASE("read_items: pages are touched in order if the system reads far ahead") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    DataFile file;
    CHECK(file.reads_right(&far));
    CHECK(file.cache.joined(What::asked).empty());
    CHECK(file.cache.joined(What::mapped) == std::vector{Request{What::mapped, 0, kFile}});
    CHECK(file.cache.held(0, kFile) == kFile);
    CHECK(file.cache.mapped(0, kFile) == 0);
}

TEST_CASE("read_items: pages are asked for if the read-ahead is small") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    DataFile file;
    CHECK(file.reads_right(&nothing));
    CHECK(file.cache.joined(What::mapped).empty());
    CHECK(file.cache.held(0, kFile) == kFile);
}

TEST_CASE("read_items: pages are asked for if the system cannot map them in order") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    DataFile file({.populates = false});
    CHECK(file.reads_right(&far));
    CHECK(file.cache.joined(What::asked).front().begin == 0);
    CHECK(file.cache.held(0, kFile) == kFile);
}

TEST_CASE("read_items: small tensors map no pages, however far the system reads ahead") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    DataFile file({}, {1 << 20, 2 << 20});
    CHECK(file.reads_right(&far));
    CHECK(file.cache.joined(What::mapped).empty());
}

TEST_CASE("read_items: pages that are evicted after they were copied are not read again") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    // The first half is in memory, and is evicted as soon as the reader comes to the second half.
    // One thread: another could be anywhere in the first half then.
    const os::WithEffort alone({1, nullptr});
    constexpr std::uint64_t kMany = 160 << 20;
    DataFile file({}, std::vector<std::uint64_t>(20, 8 << 20));
    file.cache.bring(0, kMany / 2);
    file.cache.evict_before(kMany / 2);
    CHECK(file.reads_right(&far));
    for (const Request& one : file.cache.joined(What::mapped)) {
        CHECK(one.begin >= kMany / 2 - (32 << 20));
    }
}

TEST_CASE("read_items: pages that will be dropped are asked for, so that all of them are noted") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    DataFile file;
    std::atomic<std::uint64_t> absent = 0;
    CHECK(file.reads_right(&far, [&](const bulk::Item&, std::uint64_t begin, std::uint64_t end) {
        absent += end - begin;
    }));
    CHECK(file.cache.joined(What::mapped).empty());
    CHECK(absent == kFile);
}

TEST_CASE("read_items: nothing is asked about pages that are in memory") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    DataFile file;
    file.cache.bring(0, kFile);
    for (const bulk::ReadAhead::Ask of : {&far, &nothing}) CHECK(file.reads_right(of));
    CHECK(file.cache.joined(What::asked).empty());
    CHECK(file.cache.joined(What::mapped).empty());
    CHECK(file.cache.joined(What::dropped).empty());
}

}  // namespace onnxmap::test
