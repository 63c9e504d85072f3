// Counts the pages of two data files: those in a fake page cache, and those this process has
// mapped.
#include "bulk/stream_pages.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bulk_model.hpp"
#include "cold_file.hpp"
#include "external_plan.hpp"
#include "plain_os.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

using bulk::StreamPages;

constexpr std::uint64_t kEach = 4 << 20;  // bytes of a file
constexpr std::uint64_t kWindow = 8 * kEach;

// How far the system reads ahead on a device. Such pages may come and go in pieces of 2 MiB.
struct ReadsFarAhead {
    static constexpr std::uint64_t kNbytes = 1 << 20;
    static constexpr std::uint64_t kPiece = 2 << 20;
    static std::uint64_t nbytes(const source::Source&) { return kNbytes; }
};
struct ReadsNothingAhead {
    static constexpr std::uint64_t kNbytes = 0;
    static constexpr std::uint64_t kPiece = 0;
    static std::uint64_t nbytes(const source::Source&) { return kNbytes; }
};

// A missing page brings half a read-ahead before it, and two read-aheads behind it.
template <class Device>
constexpr FakePageCache::Kernel kKernel{Device::kNbytes / 2, 2 * Device::kNbytes, Device::kPiece};

/// Brings the next item.
void bring_next(StreamPages& pages, StreamPages::Cursor& at) {
    for (const std::size_t item = at.item; at.item == item;) pages.prefetch(pages.next(at));
}

struct TwoFiles {
    explicit TwoFiles(FakePageCache::Kernel kernel, std::uint64_t nbytes = kEach) {
        Bytes graph;
        for (const char* const name : {"a", "b"}) {
            const std::string path = folder.write(name, ByteView(counting(nbytes)));
            append(graph, blob(5, external_tensor(name, name, 0, kEach)));
            caches.push_back(std::make_unique<FakePageCache>(path, kernel));
        }
        plan = external_plan(folder, graph, {0, 1}, {nullptr, false, true});
    }

    /// Reads the file like another process.
    void read(std::size_t i) const { caches[i]->bring(0, kEach); }
    /// Touches all pages of the file, like the reader of a view.
    void touch(std::size_t i) const { caches[i]->touch(source(i), 0, kEach); }

    [[nodiscard]] const source::Source& source(std::size_t i) const {
        return *plan->stored().sources()[i];
    }
    [[nodiscard]] std::uint64_t held(std::size_t i) const { return caches[i]->held(0, kEach); }
    [[nodiscard]] std::uint64_t mapped(std::size_t i) const { return caches[i]->mapped(0, kEach); }

    TemporaryFolder folder;
    std::vector<std::unique_ptr<FakePageCache>> caches;
    std::unique_ptr<bulk::Plan> plan;
};

}  // namespace

TEST_CASE_TEMPLATE("stream_pages: pages that the reader has passed are dropped, and all at the end",
                   Device, ReadsFarAhead, ReadsNothingAhead) {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const TwoFiles files(kKernel<Device>);
    StreamPages pages(*files.plan, kWindow, &Device::nbytes);
    StreamPages::Cursor at{0, 0};
    bring_next(pages, at);
    pages.reader_at(files.plan->items()[0]);
    files.touch(0);
    CHECK(files.held(0) == kEach);
    bring_next(pages, at);
    files.touch(1);
    CHECK(files.mapped(0) == kEach);
    pages.reader_at(files.plan->items()[1]);
    CHECK(files.mapped(0) == 0);
    CHECK(files.held(0) == 0);
    CHECK(files.held(1) == kEach);
    pages.release_all(true);
    CHECK(files.mapped(1) == 0);
    CHECK(files.held(1) == 0);
}

TEST_CASE("stream_pages: pages in memory are mapped, missing pages are asked for") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const TwoFiles files(kKernel<ReadsNothingAhead>);
    files.read(0);
    StreamPages pages(*files.plan, kWindow, &ReadsNothingAhead::nbytes);
    StreamPages::Cursor at{0, 0};
    bring_next(pages, at);
    CHECK(files.mapped(0) == kEach);
    bring_next(pages, at);
    CHECK(files.mapped(1) == 0);
    CHECK(files.held(1) == kEach);
}

TEST_CASE("stream_pages: if the system reads far ahead, all pages are mapped") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const TwoFiles files(kKernel<ReadsFarAhead>);
    files.read(0);
    StreamPages pages(*files.plan, kWindow, &ReadsFarAhead::nbytes);
    StreamPages::Cursor at{0, 0};
    bring_next(pages, at);
    CHECK(files.mapped(0) == kEach);
    bring_next(pages, at);
    CHECK(files.mapped(1) == kEach);
}

TEST_CASE("stream_pages: pages from read-ahead are dropped, and earlier pages stay") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const TwoFiles files(kKernel<ReadsFarAhead>, 4 * kEach);  // the tensor is the first quarter
    FakePageCache& cache = *files.caches[0];
    cache.bring(3 * kEach, 4 * kEach);
    StreamPages pages(*files.plan, kWindow, &ReadsFarAhead::nbytes);
    StreamPages::Cursor at{0, 0};
    bring_next(pages, at);
    CHECK(cache.held(kEach, kEach + (2 << 20)) == 2 << 20);
    pages.reader_at(files.plan->items()[0]);
    pages.release_all(true);
    CHECK(cache.held(0, 3 * kEach) == 0);
    CHECK(cache.held(3 * kEach, 4 * kEach) == kEach);
}

// Tensors of 4 MiB that begin in the middle of pages, in two runs of neighbours with a gap between
// the runs. The file is a hole, which is read like any bytes.
struct LongFile {
    static constexpr std::uint64_t kTensor = 4 << 20;
    static constexpr std::uint64_t kNbytes = 192 << 20;
    static constexpr std::uint64_t kReadAhead = 8 << 20;

    LongFile() {
        folder.write("w", ByteView());
        std::filesystem::resize_file(folder / "w", kNbytes);
        cache = std::make_unique<FakePageCache>(
            folder / "w", FakePageCache::Kernel{kReadAhead / 2, 2 * kReadAhead, 2 << 20});
        Bytes graph;
        std::vector<std::uint32_t> positions;
        for (const std::uint64_t run : {(1U << 20) + 1000, (120U << 20) + 24}) {
            for (std::uint64_t i = 0; i < 12; ++i) {
                const std::string name = std::to_string(positions.size());
                append(graph, blob(5, external_tensor(name, "w", run + i * kTensor, kTensor)));
                positions.push_back(static_cast<std::uint32_t>(positions.size()));
            }
        }
        plan = external_plan(folder, graph, positions, {nullptr, false, true});
    }

    static std::uint64_t read_ahead(const source::Source&) { return kReadAhead; }
    [[nodiscard]] const source::Source& source() const { return *plan->stored().sources()[0]; }
    [[nodiscard]] std::uint64_t held(std::uint64_t begin, std::uint64_t end) const {
        return cache->held(begin, end);
    }

    TemporaryFolder folder;
    std::unique_ptr<FakePageCache> cache;
    std::unique_ptr<bulk::Plan> plan;
};

TEST_CASE("stream_pages: of a file longer than the look-ahead, pages are dropped on the way") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const LongFile file;
    StreamPages pages(*file.plan, kWindow, &LongFile::read_ahead);
    StreamPages::Cursor at{0, 0};
    for (const bulk::Item& item : file.plan->items()) {
        bring_next(pages, at);
        pages.reader_at(item);
        const std::uint64_t passed = item.offset - item.offset % LongFile::kTensor;
        if (passed > 0) CHECK(file.held(0, passed - LongFile::kTensor) == 0);
    }
    CHECK(file.held(0, LongFile::kNbytes) > 0);
    pages.release_all(true);
    CHECK(file.held(0, LongFile::kNbytes) == 0);
}

TEST_CASE("stream_pages: pages that come after the reader has passed are dropped at the end") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const LongFile file;
    StreamPages pages(*file.plan, kWindow, &LongFile::read_ahead);
    StreamPages::Cursor at{0, 0};
    for (int i = 0; i < 6; ++i) bring_next(pages, at);
    const std::span items = file.plan->items();
    pages.reader_at(items[0]);
    pages.reader_at(items[5]);
    CHECK(file.held(0, items[4].offset) == 0);
    file.cache->bring(items[2].offset, items[3].offset);
    pages.release_all(true);
    CHECK(file.held(0, LongFile::kNbytes) == 0);
}

TEST_CASE("stream_pages: pages that the reader touches before any are brought are dropped") {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const TwoFiles files(kKernel<ReadsFarAhead>);
    StreamPages pages(*files.plan, kWindow, &ReadsFarAhead::nbytes);
    StreamPages::Cursor at{0, 0};
    pages.reader_at(files.plan->items()[0]);
    files.touch(0);
    bring_next(pages, at);
    pages.release_all(true);
    CHECK(files.mapped(0) == 0);
    CHECK(files.held(0) == 0);
}

TEST_CASE_TEMPLATE("stream_pages: pages that were in the cache stay there", Device, ReadsFarAhead,
                   ReadsNothingAhead) {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const TwoFiles files(kKernel<Device>);
    files.read(0);
    StreamPages pages(*files.plan, kWindow, &Device::nbytes);
    StreamPages::Cursor at{0, 0};
    for (const bulk::Item& item : files.plan->items()) {
        bring_next(pages, at);
        pages.reader_at(item);
        files.touch(item.source);
    }
    pages.release_all(true);
    CHECK(files.held(0) == kEach);
    CHECK(files.mapped(0) == 0);
    CHECK(files.held(1) == 0);
}

TEST_CASE_TEMPLATE("stream_pages: a stream that is left before its first view gives back all pages",
                   Device, ReadsFarAhead, ReadsNothingAhead) {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const TwoFiles files(kKernel<Device>);
    StreamPages pages(*files.plan, kWindow, &Device::nbytes);
    StreamPages::Cursor at{0, 0};
    bring_next(pages, at);
    bring_next(pages, at);
    files.touch(0);
    files.touch(1);
    pages.release_all(false);
    for (const std::size_t i : {0UL, 1UL}) {
        CHECK(files.mapped(i) == 0);
        CHECK(files.held(i) == 0);
    }
}

TEST_CASE_TEMPLATE("stream_pages: if the reader is faster, pages that come late are given back",
                   Device, ReadsFarAhead, ReadsNothingAhead) {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const TwoFiles files(kKernel<Device>);
    bool cold = true;
    SUBCASE("in memory") { cold = false; }
    SUBCASE("on disk") {}
    if (!cold) files.read(0);
    StreamPages pages(*files.plan, kWindow, &Device::nbytes);
    StreamPages::Cursor at{0, 0};
    pages.reader_at(files.plan->items()[0]);
    pages.reader_at(files.plan->items()[1]);
    bring_next(pages, at);
    // If the system reads ahead, the reader's own page faults brought more than it touched.
    if (Device::nbytes(files.source(0)) > 0) files.read(0);
    CHECK(files.mapped(0) == 0);
    bring_next(pages, at);
    files.touch(1);
    pages.release_all(true);
    CHECK(files.mapped(0) == 0);
    CHECK(files.mapped(1) == 0);
    CHECK(files.held(0) == (cold ? 0 : kEach));
    CHECK(files.held(1) == 0);
}

TEST_CASE_TEMPLATE("stream_pages: the pages of the reader's tensor stay until it goes on", Device,
                   ReadsFarAhead, ReadsNothingAhead) {
    ONNXMAP_NEEDS_LINUX("a view of the page cache");
    const TwoFiles files(kKernel<Device>);
    StreamPages pages(*files.plan, kWindow, &Device::nbytes);
    StreamPages::Cursor at{0, 0};
    bring_next(pages, at);
    bring_next(pages, at);
    pages.reader_at(files.plan->items()[0]);
    files.touch(0);
    files.touch(1);
    pages.release_all(false);
    CHECK(files.mapped(0) == kEach);
    CHECK(files.mapped(1) == 0);
    CHECK(files.held(1) == 0);
}

}  // namespace onnxmap::test
