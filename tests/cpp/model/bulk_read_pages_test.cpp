// What reading many tensors into arrays asks about the pages of their file; see
// fake_page_cache.hpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bulk_model.hpp"
#include "cold_file.hpp"
#include "external_place.hpp"
#include "model/bulk_read.hpp"
#include "model/load.hpp"

namespace onnxmap::test {

namespace {

using What = FakePageCache::What;
using Request = FakePageCache::Request;

constexpr std::uint64_t kFile = 12 << 20;

std::uint64_t far(const io::Source&) { return 1 << 20; }
std::uint64_t nothing(const io::Source&) { return 0; }

// Tensors of 5 MiB, 5 MiB and 2 MiB in one data file, of which nothing is in memory.
struct DataFile {
    DataFile() {
        Bytes graph;
        std::uint64_t offset = 0;
        for (const std::uint64_t nbytes : {5 << 20, 5 << 20, 2 << 20}) {
            append(graph, blob(5, external_tensor(std::to_string(offset), "w", offset, nbytes)));
            offset += nbytes;
        }
        model::LoadOptions options;
        options.root = &onnx::message<"ModelProto">;
        options.external = external_place(folder.path().string(), io::IoMode::mmap);
        const std::string path = folder.write("m", ByteView(test::model(graph)));
        const auto document = model::load_file(path, io::IoMode::mmap, options);
        const auto index =
            document->index(*document->child(document->root(), onnx::field<"ModelProto.graph">));
        plan = std::make_unique<model::BulkPlan>(
            document, *index, std::vector<std::uint32_t>{0, 1, 2}, model::BulkOptions{});
    }

    /// Whether all arrays are right.
    [[nodiscard]] bool reads_right(model::ReadAhead::Of of, const model::OnAbsent& told = {}) {
        std::atomic<std::uint64_t> done = 0;
        const auto places = model::read_items(*plan, plan->items(), done, told, of);
        Bytes found;
        for (const io::Place& place : places) append(found, join(ByteView(place.bytes)));
        return found == bytes;
    }

    TemporaryFolder folder;
    Bytes bytes = bytes_of(kFile);
    FakePageCache cache{folder.write("w", ByteView(bytes))};
    std::unique_ptr<model::BulkPlan> plan;
};

}  // namespace

TEST_CASE("bulk_read: pages are touched in order if the system reads far ahead of that") {
    DataFile file;
    CHECK(file.reads_right(&far));
    CHECK(file.cache.joined(What::asked).empty());
    CHECK(file.cache.joined(What::mapped) == std::vector{Request{What::mapped, 0, kFile}});
    CHECK(file.cache.held(0, kFile) == kFile);
    CHECK(file.cache.mapped(0, kFile) == 0);
}

TEST_CASE("bulk_read: pages are asked for elsewhere") {
    DataFile file;
    CHECK(file.reads_right(&nothing));
    CHECK(file.cache.joined(What::mapped).empty());
    CHECK(file.cache.held(0, kFile) == kFile);
}

TEST_CASE("bulk_read: pages that are to be dropped are asked for, since all of them are noted") {
    DataFile file;
    std::atomic<std::uint64_t> absent = 0;
    CHECK(file.reads_right(&far, [&](const model::BulkItem&, std::uint64_t begin,
                                     std::uint64_t end) { absent += end - begin; }));
    CHECK(file.cache.joined(What::mapped).empty());
    CHECK(absent == kFile);
}

TEST_CASE("bulk_read: nothing is asked about pages that are in memory") {
    DataFile file;
    file.cache.bring(0, kFile);
    for (const model::ReadAhead::Of of : {&far, &nothing}) CHECK(file.reads_right(of));
    CHECK(file.cache.joined(What::asked).empty());
    CHECK(file.cache.joined(What::mapped).empty());
    CHECK(file.cache.joined(What::dropped).empty());
}

}  // namespace onnxmap::test
