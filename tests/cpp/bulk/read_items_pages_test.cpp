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
#include "plain_os.hpp"

namespace onnxmap::test {

namespace {

using What = FakePageCache::What;

constexpr std::uint64_t kFile = 12 << 20;

// Tensors of 5 MiB, 5 MiB and 2 MiB in one data file that is not in memory.
struct DataFile {
    explicit DataFile(const std::vector<std::uint64_t>& tensors = {5 << 20, 5 << 20, 2 << 20})
        : bytes(bytes_of(std::accumulate(tensors.begin(), tensors.end(), std::uint64_t{0}))),
          cache(folder.write("w", ByteView(bytes))) {
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
    [[nodiscard]] bool reads_right(const bulk::OnAbsent& told = {}) {
        std::atomic<std::uint64_t> done = 0;
        const auto memory = bulk::read_items(*plan, plan->items(), done, told);
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

TEST_CASE("read_items: absent pages are asked for, and stay") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    DataFile file;
    CHECK(file.reads_right());
    CHECK(file.cache.joined(What::mapped).empty());
    CHECK(file.cache.held(0, kFile) == kFile);
}

TEST_CASE("read_items: pages that will be dropped are asked for, so that all of them are noted") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    DataFile file;
    std::atomic<std::uint64_t> absent = 0;
    CHECK(file.reads_right(
        [&](const bulk::Item&, std::uint64_t begin, std::uint64_t end) { absent += end - begin; }));
    CHECK(file.cache.joined(What::mapped).empty());
    CHECK(absent == kFile);
}

TEST_CASE("read_items: nothing is asked about pages that are in memory") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    DataFile file;
    file.cache.bring(0, kFile);
    CHECK(file.reads_right());
    CHECK(file.cache.joined(What::asked).empty());
    CHECK(file.cache.joined(What::mapped).empty());
    CHECK(file.cache.joined(What::dropped).empty());
}

}  // namespace onnxmap::test
