// Two data files whose pages are counted: in the page cache, and in this process.
#include "model/pages_around.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bulk_model.hpp"
#include "cold_file.hpp"
#include "external_place.hpp"
#include "io/descriptor.hpp"
#include "io/page_cache.hpp"
#include "model/load.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

using model::PagesAround;

constexpr std::uint64_t kFile = 4 << 20;
constexpr std::uint64_t kWindow = 8 * kFile;

// What the system is taken to do with the device, whatever it does.
struct ReadsFarAhead {
    static std::uint64_t nbytes(const io::Source&) { return 1 << 20; }
};
struct ReadsNothingAhead {
    static std::uint64_t nbytes(const io::Source&) { return 0; }
};

/// Whether the bytes are in the page cache, or were until the kernel evicted some: it may at any
/// moment. What is dropped is not evicted.
bool stays(const io::Source& source, std::uint64_t offset, std::uint64_t nbytes) {
    const io::Descriptor file(::open(source.path().c_str(), O_RDONLY | O_CLOEXEC));
    const auto found = cachestat(file.number(), offset, nbytes);
    const std::uint64_t evicted = found ? found->evicted * page() : 0;
    return io::resident_bytes(source, offset, nbytes) + evicted >= nbytes;
}

/// The item that is next.
void bring_next(PagesAround& pages, PagesAround::Place& at) {
    for (const std::size_t item = at.item; at.item == item;) pages.bring(pages.next(at));
}

std::unique_ptr<model::BulkPlan> planned(const TemporaryFolder& folder, const Bytes& graph,
                                         const std::vector<std::uint32_t>& positions) {
    model::LoadOptions options;
    options.root = &onnx::message<"ModelProto">;
    options.external = external_place(folder.path().string(), io::IoMode::mmap);
    const std::string path = folder.write("m", ByteView(test::model(graph)));
    const auto document = model::load_file(path, io::IoMode::mmap, options);
    const auto index =
        document->index(*document->child(document->root(), onnx::field<"ModelProto.graph">));
    return std::make_unique<model::BulkPlan>(document, *index, positions,
                                             model::BulkOptions{nullptr, false, true});
}

struct TwoFiles {
    explicit TwoFiles(std::uint64_t nbytes = kFile) {
        Bytes graph;
        for (const char* const name : {"a", "b"}) {
            folder.write(name, ByteView(counting(nbytes)));
            append(graph, blob(5, external_tensor(name, name, 0, kFile)));
        }
        plan = planned(folder, graph, {0, 1});
        for (const char* const name : {"a", "b"}) drop(name);
    }

    void drop(const char* name) {
        const io::Descriptor file(::open((folder / name).c_str(), O_RDONLY | O_CLOEXEC));
        REQUIRE(::fsync(file.number()) == 0);
        REQUIRE(::posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED) == 0);
        on_disk = drops_pages(folder / name);
    }

    /// Waits until the file is in the page cache; maps nothing.
    void read(std::size_t i) const {
        Bytes bytes(kFile);
        source(i).read_file(0, bytes);
    }
    /// As one who looks at all of it.
    void touch(std::size_t i) const { io::populate(source(i), 0, kFile); }

    [[nodiscard]] const io::Source& source(std::size_t i) const { return *plan->sources()[i]; }
    [[nodiscard]] std::uint64_t cached(std::size_t i) const {
        return io::resident_bytes(source(i), 0, kFile);
    }
    [[nodiscard]] bool stays(std::size_t i) const { return test::stays(source(i), 0, kFile); }
    /// Bytes of this process's memory that the mapping of the file takes.
    [[nodiscard]] std::uint64_t mapped(std::size_t i) const {
        std::ifstream smaps("/proc/self/smaps");
        bool here = false;
        for (std::string line; std::getline(smaps, line);) {
            unsigned kilobytes = 0;
            if (line.ends_with(source(i).path())) {
                here = true;
                // NOLINTNEXTLINE(cert-err34-c)
            } else if (here && std::sscanf(line.c_str(), "Rss: %u kB", &kilobytes) == 1) {
                return std::uint64_t{kilobytes} << 10;
            }
        }
        return UINT64_MAX;
    }

    TemporaryFolder folder;
    std::unique_ptr<model::BulkPlan> plan;
    bool on_disk = true;
};

}  // namespace

TEST_CASE_TEMPLATE("pages_around: what the reader has passed is dropped, and at the end all",
                   Device, ReadsFarAhead, ReadsNothingAhead) {
    TwoFiles files;
    PagesAround pages(*files.plan, kWindow, &Device::nbytes);
    PagesAround::Place at{0, 0};
    bring_next(pages, at);
    pages.reader_at(files.plan->items()[0]);
    files.touch(0);
    CHECK(files.stays(0));
    bring_next(pages, at);
    files.touch(1);
    CHECK(files.mapped(0) == kFile);
    pages.reader_at(files.plan->items()[1]);
    CHECK(files.mapped(0) == 0);
    if (files.on_disk) CHECK(files.cached(0) == 0);
    CHECK(files.stays(1));
    pages.give_back_all(true);
    CHECK(files.mapped(1) == 0);
    if (files.on_disk) CHECK(files.cached(1) == 0);
}

TEST_CASE("pages_around: what is in memory is mapped, what is not is asked for") {
    TwoFiles files;
    files.read(0);
    PagesAround pages(*files.plan, kWindow, &ReadsNothingAhead::nbytes);
    PagesAround::Place at{0, 0};
    bring_next(pages, at);
    CHECK(files.mapped(0) == kFile);
    bring_next(pages, at);
    if (files.on_disk) CHECK(files.mapped(1) == 0);
    files.read(1);
    CHECK(files.stays(1));
}

TEST_CASE("pages_around: where the system reads far ahead, all is mapped") {
    TwoFiles files;
    files.read(0);
    PagesAround pages(*files.plan, kWindow, &ReadsFarAhead::nbytes);
    PagesAround::Place at{0, 0};
    bring_next(pages, at);
    CHECK(files.mapped(0) == kFile);
    bring_next(pages, at);
    CHECK(files.mapped(1) == kFile);
}

TEST_CASE("pages_around: what the system reads ahead is dropped, what was there before stays") {
    TwoFiles files(4 * kFile);  // of which the tensor is the first
    const io::Source& source = files.source(0);
    Bytes bytes(kFile);
    source.read_file(3 * kFile, bytes);
    REQUIRE(stays(source, 3 * kFile, kFile));
    PagesAround pages(*files.plan, kWindow, &ReadsFarAhead::nbytes);
    PagesAround::Place at{0, 0};
    bring_next(pages, at);
    bytes.resize(kFile + (2 << 20));
    source.read_file(0, bytes);  // in place of the system, two read-aheads
    pages.reader_at(files.plan->items()[0]);
    pages.give_back_all(true);
    if (!files.on_disk) return;
    CHECK(io::resident_bytes(source, 0, kFile + (2 << 20)) == 0);
    CHECK(stays(source, 3 * kFile, kFile));
}

// Tensors of 4 MiB that begin at no page, in two runs of neighbours with a gap between them. The
// file is a hole, which is read as well as bytes.
struct LongFile {
    static constexpr std::uint64_t kTensor = 4 << 20;
    static constexpr std::uint64_t kNbytes = 192 << 20;
    static constexpr std::uint64_t kReadAhead = 8 << 20;

    LongFile() {
        folder.write("w", ByteView());
        std::filesystem::resize_file(folder / "w", kNbytes);
        Bytes graph;
        std::vector<std::uint32_t> positions;
        for (const std::uint64_t run : {(1 << 20) + 1000, (120 << 20) + 24}) {
            for (std::uint64_t i = 0; i < 12; ++i) {
                const std::string name = std::to_string(positions.size());
                append(graph, blob(5, external_tensor(name, "w", run + i * kTensor, kTensor)));
                positions.push_back(static_cast<std::uint32_t>(positions.size()));
            }
        }
        plan = planned(folder, graph, positions);
    }

    /// Whether what is noted is all that the system can read.
    [[nodiscard]] bool is_of_use() const {
        return drops_pages(folder / "w") && io::read_ahead_nbytes(source()) <= kReadAhead;
    }
    static std::uint64_t read_ahead(const io::Source&) { return kReadAhead; }
    [[nodiscard]] const io::Source& source() const { return *plan->sources()[0]; }
    [[nodiscard]] std::uint64_t cached(std::uint64_t begin, std::uint64_t end) const {
        return io::resident_bytes(source(), begin, end - begin);
    }

    TemporaryFolder folder;
    std::unique_ptr<model::BulkPlan> plan;
};

TEST_CASE("pages_around: of a file longer than what is looked at, all is dropped on the way") {
    const LongFile file;
    if (!file.is_of_use()) return;
    PagesAround pages(*file.plan, kWindow, &LongFile::read_ahead);
    PagesAround::Place at{0, 0};
    pages.look_first();
    for (const model::BulkItem& item : file.plan->items()) {
        bring_next(pages, at);
        pages.reader_at(item);
        const std::uint64_t passed = item.offset - item.offset % LongFile::kTensor;
        if (passed > 0) CHECK(file.cached(0, passed - LongFile::kTensor) == 0);
    }
    CHECK(file.cached(0, LongFile::kNbytes) > 0);
    pages.give_back_all(true);
    CHECK(file.cached(0, LongFile::kNbytes) == 0);
}

TEST_CASE("pages_around: what may be brought again with a missing page is not dropped yet") {
    const LongFile file;
    if (!file.is_of_use()) return;
    PagesAround pages(*file.plan, kWindow, &LongFile::read_ahead);
    PagesAround::Place at{0, 0};
    for (int i = 0; i < 6; ++i) bring_next(pages, at);
    const std::uint64_t brought = file.plan->items()[5].stored_end();
    pages.reader_at(file.plan->items()[0]);
    pages.reader_at(file.plan->items()[8]);  // faster than who brings
    const std::uint64_t kept = brought - LongFile::kReadAhead / 2;
    CHECK(stays(file.source(), kept, brought - kept));
    CHECK(file.cached(0, kept - LongFile::kTensor) == 0);
    pages.give_back_all(true);
    CHECK(file.cached(0, LongFile::kNbytes) == 0);
}

TEST_CASE("pages_around: what the reader touches before anything is brought is dropped, too") {
    TwoFiles files;
    PagesAround pages(*files.plan, kWindow, &ReadsFarAhead::nbytes);
    PagesAround::Place at{0, 0};
    pages.look_first();
    files.touch(0);
    bring_next(pages, at);
    pages.reader_at(files.plan->items()[0]);
    pages.give_back_all(true);
    CHECK(files.mapped(0) == 0);
    if (files.on_disk) CHECK(files.cached(0) == 0);
}

TEST_CASE_TEMPLATE("pages_around: what was in the page cache stays there", Device, ReadsFarAhead,
                   ReadsNothingAhead) {
    TwoFiles files;
    files.read(0);
    PagesAround pages(*files.plan, kWindow, &Device::nbytes);
    PagesAround::Place at{0, 0};
    for (const model::BulkItem& item : files.plan->items()) {
        bring_next(pages, at);
        pages.reader_at(item);
        files.touch(item.source);
    }
    pages.give_back_all(true);
    CHECK(files.stays(0));
    CHECK(files.mapped(0) == 0);
    if (files.on_disk) CHECK(files.cached(1) == 0);
}

TEST_CASE_TEMPLATE("pages_around: a stream that is left before its first view gives all back",
                   Device, ReadsFarAhead, ReadsNothingAhead) {
    TwoFiles files;
    PagesAround pages(*files.plan, kWindow, &Device::nbytes);
    PagesAround::Place at{0, 0};
    bring_next(pages, at);
    bring_next(pages, at);
    files.touch(0);
    files.touch(1);
    pages.give_back_all(false);
    for (const std::size_t i : {0UL, 1UL}) {
        CHECK(files.mapped(i) == 0);
        if (files.on_disk) CHECK(files.cached(i) == 0);
    }
}

TEST_CASE_TEMPLATE("pages_around: the reader is faster, and what comes late is given back, too",
                   Device, ReadsFarAhead, ReadsNothingAhead) {
    TwoFiles files;
    bool cold = true;
    SUBCASE("in memory") { cold = false; }
    SUBCASE("on disk") {}
    if (!cold) files.read(0);
    PagesAround pages(*files.plan, kWindow, &Device::nbytes);
    PagesAround::Place at{0, 0};
    pages.reader_at(files.plan->items()[0]);
    pages.reader_at(files.plan->items()[1]);
    bring_next(pages, at);
    // Where the system reads ahead, the reader itself had more brought than it touched.
    if (Device::nbytes(files.source(0)) > 0) files.read(0);
    CHECK(files.mapped(0) == 0);
    bring_next(pages, at);
    files.touch(1);
    pages.give_back_all(true);
    CHECK(files.mapped(0) == 0);
    CHECK(files.mapped(1) == 0);
    if (!cold) CHECK(files.stays(0));
    if (cold && files.on_disk) CHECK(files.cached(0) == 0);
    if (files.on_disk) CHECK(files.cached(1) == 0);
}

TEST_CASE_TEMPLATE("pages_around: what the reader is at stays until it is done with it", Device,
                   ReadsFarAhead, ReadsNothingAhead) {
    TwoFiles files;
    PagesAround pages(*files.plan, kWindow, &Device::nbytes);
    PagesAround::Place at{0, 0};
    bring_next(pages, at);
    bring_next(pages, at);
    pages.reader_at(files.plan->items()[0]);
    files.touch(0);
    files.touch(1);
    pages.give_back_all(false);
    CHECK(files.mapped(0) == kFile);
    CHECK(files.mapped(1) == 0);
    if (files.on_disk) CHECK(files.cached(1) == 0);
}

}  // namespace onnxmap::test
