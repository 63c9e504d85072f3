#include "save/write_content.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "child_process.hpp"
#include "little_memory.hpp"
#include "memory_source.hpp"
#include "numbered.hpp"
#include "opened.hpp"
#include "os/new_file.hpp"
#include "os/page_ranges.hpp"
#include "os/parallel.hpp"
#include "os/pooled_file.hpp"
#include "plain_os.hpp"
#include "save/saved_files.hpp"
#include "source/remote_file.hpp"
#include "temporary_folder.hpp"
#include "watched_writes.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

namespace {

namespace fs = std::filesystem;
using save::FileContent;
using source::IoMode;

// Takes all bytes, and copies from files if told so.
class Recorder final : public save::Sink {
  public:
    explicit Recorder(std::uint64_t most_copied = 0) : most_copied_(most_copied) {}

    void write(ByteView bytes) override {
        text += as_text(bytes);
        sizes.push_back(bytes.size());
    }
    [[nodiscard]] std::uint64_t copy(const os::File& file, std::uint64_t offset,
                                     std::uint64_t nbytes) override {
        ++asked;
        const std::uint64_t count = std::min(nbytes, most_copied_);
        Bytes bytes(count);
        file.read(offset, bytes);
        text += as_text(bytes);
        copied += count;
        return count;
    }

    std::string text;
    std::vector<std::size_t> sizes;
    std::uint64_t copied = 0;
    int asked = 0;

  private:
    std::uint64_t most_copied_;
};

class RemoteText final : public source::RangeReader {
  public:
    explicit RemoteText(std::string text) : text_(std::move(text)) {}

    [[nodiscard]] const std::string& url() const noexcept override { return url_; }
    [[nodiscard]] std::uint64_t size() const noexcept override { return text_.size(); }
    [[nodiscard]] const std::string& state() const noexcept override { return url_; }
    [[nodiscard]] unsigned at_once() const noexcept override { return 4; }
    void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        ++requests;
        std::copy_n(as_bytes(text_).begin() + static_cast<std::ptrdiff_t>(offset), out.size(),
                    out.begin());
    }
    void check_unchanged() const override {}

    mutable int requests = 0;

  private:
    std::string text_;
    std::string url_ = "http://somewhere/model.onnx";
};

// Small pieces, long ranges, gaps of all sizes, and a range that goes back. Two long ranges, of
// kOnPages bytes, start at the same place of a page as in the source.
constexpr std::uint64_t kOnPages = 2'000'000 + 3'500'000;

FileContent many_parts(const std::shared_ptr<const source::Source>& source, std::string& expected,
                       const std::string& text) {
    FileContent parts;
    const auto pad_for = [&](std::uint64_t offset) {
        const std::uint64_t count = (offset - parts.nbytes()) % os::page_size();
        parts.zeros(count);
        expected.append(count, '\0');
    };
    const auto range = [&](std::uint64_t offset, std::uint64_t nbytes) {
        parts.range(source, offset, nbytes);
        expected += text.substr(offset, nbytes);
        parts.copy("|");
        expected += '|';
    };
    range(0, 10);
    range(10, 100);
    range(200, 70'000);
    range(75'000, 5);
    pad_for(80'000);
    range(80'000, 2'000'000);
    range(5, 3);
    for (std::uint64_t i = 0; i < 300; ++i) range(2'100'000 + 100 * i, 1 + i % 90);
    pad_for(2'500'000);
    range(2'500'000, text.size() - 2'500'000);
    parts.zeros(2'500'000);
    expected += std::string(2'500'000, '\0');
    range(text.size() - 1, 1);
    return parts;
}

}  // namespace

TEST_CASE("write_content: ranges of every kind of source are the bytes of the source") {
    const TemporaryFolder folder;
    const std::string text = numbered(6'000'000);
    const std::string path = folder.write("f", text);
    const auto remote = std::make_shared<RemoteText>(text);
    const std::vector<std::shared_ptr<const source::Source>> sources = {
        open_source(path, IoMode::mmap), open_source(path, IoMode::read),
        std::make_shared<MemorySource>(as_bytes(text)),
        std::make_shared<source::RemoteFile>(remote)};
    for (const auto& source : sources) {
        CAPTURE(source->kind());
        for (const std::uint64_t most_copied : {0U, 30'000U, 1U << 30}) {
            CAPTURE(most_copied);
            std::string expected;
            const FileContent parts = many_parts(source, expected, text);
            Recorder sink(most_copied);
            const save::ByteCounts counts = save::write_content(parts, sink);
            CHECK((sink.text == expected));
            CHECK(counts.copied + counts.written == expected.size());
            const std::uint64_t from_sources = 70'000 + kOnPages + 119 + 12'750;
            CHECK(counts.copied == (source->in_memory() ? 0 : from_sources));
            const bool copies = source->in_file() && most_copied > 0;
            CHECK(sink.copied == (copies ? kOnPages : 0));
            // A source that cannot copy is asked once, not for each range.
            if (most_copied == 0) CHECK(sink.asked == (source->in_file() ? 1 : 0));
        }
    }
    // Three writes of a source that is far away: one request serves many ranges.
    CHECK(remote->requests < 30);
}

TEST_CASE("write_content: zeros count as written unless the sink leaves a hole") {
    class Holes final : public save::Sink {
      public:
        void write(ByteView bytes) override { stored += bytes.size(); }
        [[nodiscard]] bool skip(std::uint64_t) override { return true; }

        std::uint64_t stored = 0;
    };
    FileContent parts;
    parts.copy("header");
    parts.zeros(100);
    parts.copy("values");
    parts.zeros(std::uint64_t{1} << 40);
    parts.copy("end");
    Holes sink;
    const save::ByteCounts counts = save::write_content(parts, sink);
    CHECK(counts.written == 6 + 100 + 6 + 3);
    CHECK(sink.stored == counts.written);
}

TEST_CASE("write_content: small parts are written together") {
    FileContent parts;
    const auto source = std::make_shared<MemorySource>(as_bytes(numbered(1000)));
    for (std::uint64_t i = 0; i < 100'000; ++i) {
        parts.copy("header of a tensor");
        parts.range(source, i % 1000, 1);
    }
    Recorder sink;
    static_cast<void>(save::write_content(parts, sink));
    CHECK(sink.text.size() == 1'900'000);
    CHECK(sink.sizes.size() == 2);
}

TEST_CASE("write_content: ranges with small gaps are read together") {
    const std::string text = numbered(1'000'000);
    const auto remote = std::make_shared<RemoteText>(text);
    const auto source = std::make_shared<source::RemoteFile>(remote);
    FileContent parts;
    for (std::uint64_t i = 0; i < 100; ++i) {
        parts.range(source, 10'000 * i, 10);
        parts.copy(",");
    }
    Recorder sink;
    static_cast<void>(save::write_content(parts, sink));
    CHECK(remote->requests == 1);
    std::string expected;
    for (std::size_t i = 0; i < 100; ++i) expected += text.substr(10'000 * i, 10) + ',';
    CHECK(sink.text == expected);
}

TEST_CASE("write_content: a very long range is left to the file, wherever it goes") {
    const TemporaryFolder folder;
    const auto source = open_source(folder.write("f", numbered(9'000'000)), IoMode::mmap);
    FileContent parts;
    parts.copy("header");
    parts.range(source, 1, 8'999'999);
    Recorder sink(1 << 30);
    static_cast<void>(save::write_content(parts, sink));
    CHECK(sink.copied == 8'999'999);
}

TEST_CASE("write_content: a long range that is read is written in whole pages") {
    const TemporaryFolder folder;
    const auto source = open_source(folder.write("f", numbered(5'000'000)), IoMode::mmap);
    FileContent parts;
    parts.copy("header");
    parts.range(source, 1, 4'000'000);
    Recorder sink(1 << 30);
    static_cast<void>(save::write_content(parts, sink));
    CHECK(sink.copied == 0);  // the kernel would copy each page in two pieces
    CHECK(sink.sizes.size() == 5);
    std::uint64_t position = 0;
    for (std::size_t i = 0; i < sink.sizes.size(); ++i) {
        if (i > 1) CHECK(position % os::page_size() == 0);
        position += sink.sizes[i];
    }
}

TEST_CASE("write_content: a function gets pieces of at most a mebibyte") {
    const std::string large = numbered(20 << 20);
    FileContent parts;
    parts.copy("begin");
    parts.copy(large);
    std::string text;
    std::size_t longest = 0;
    save::SinkFunction sink([&](ByteView bytes) {
        longest = std::max(longest, bytes.size());
        text += as_text(bytes);
    });
    static_cast<void>(save::write_content(parts, sink));
    CHECK(longest == 1 << 20);
    CHECK((text == "begin" + large));
}

TEST_CASE("write_content: memory does not grow with the file") {
    if (!kCanLimitMemory) return;
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "x");
    constexpr std::uint64_t kSize = 300 << 20;
    fs::resize_file(path, kSize);
    const auto ending = in_child([&] {
        const auto source = open_source(path, IoMode::read);
        FileContent parts;
        parts.range(source, 0, kSize);
        parts.zeros(kSize);
        if (!allow_only(16 << 20)) return 1;
        std::uint64_t count = 0;
        save::SinkFunction sink([&](ByteView bytes) { count += bytes.size(); });
        static_cast<void>(save::write_content(parts, sink));
        return count == 2 * kSize ? 0 : 2;
    });
    CHECK(ending == Ending{0, 0});
}

TEST_CASE("write_content: progress only grows, and ends with the total") {
    const TemporaryFolder folder;
    const std::string text = numbered(20 << 20);
    const auto source = open_source(folder.write("f", text), IoMode::mmap);
    for (const std::uint64_t most_copied : {0U, 1U << 30}) {
        FileContent parts;
        parts.range(source, 0, source->size());
        parts.copy("end");
        std::vector<std::uint64_t> seen;
        Recorder sink(most_copied);
        static_cast<void>(
            save::write_content(parts, sink, [&](std::uint64_t done, std::uint64_t total) {
                CHECK(total == parts.nbytes());
                seen.push_back(done);
            }));
        CHECK(std::is_sorted(seen.begin(), seen.end()));
        CHECK(seen.back() == parts.nbytes());
        CHECK(seen.size() >= 3);
        CHECK(seen.size() <= 12);
    }
}

TEST_CASE("write_content: exceptions of the callback, the sink and a stop reach the caller") {
    const FileContent parts = parts_of(numbered(200'000));
    Recorder sink;
    CHECK_THROWS_AS(static_cast<void>(save::write_content(
                        parts, sink, [](auto, auto) { throw std::domain_error("callback"); })),
                    std::domain_error);
    save::SinkFunction failing([](ByteView) { throw std::domain_error("sink"); });
    CHECK_THROWS_AS(static_cast<void>(save::write_content(parts, failing)), std::domain_error);
    const std::atomic<bool> stopped = true;
    const os::WithThreadBudget budget({.threads = 1, .stopped = &stopped});
    CHECK_THROWS_AS(static_cast<void>(save::write_content(parts, sink)), os::Stopped);
}

TEST_CASE("write_content: a source that changed before or meanwhile is an error") {
    const TemporaryFolder folder;
    for (const IoMode mode : {IoMode::mmap, IoMode::read}) {
        for (const bool before : {true, false}) {
            CAPTURE(before);
            const std::string path = folder.write("f", numbered(100'000));
            const auto source = open_source(path, mode);
            FileContent parts;
            parts.range(source, 0, 10);
            parts.copy(std::string(70'000, 'x'));
            const auto change = [&] { folder.write("f", "longer " + numbered(100'000)); };
            if (before) change();
            int writes = 0;
            save::SinkFunction sink([&](ByteView) {
                if (writes++ == 0 && !before) change();
            });
            const auto error = error_of([&] { return save::write_content(parts, sink); });
            REQUIRE(error);
            CHECK(error->code == "file.changed");
            CHECK(error->file == path);
            CHECK((writes == 0) == before);
        }
    }
}

TEST_CASE("write_content: a source that is cut while it is copied is an error") {
    const TemporaryFolder folder;
    for (const IoMode mode : {IoMode::mmap, IoMode::read}) {
        for (const bool copies : {true, false}) {
            const std::string path = folder.write("f", numbered(3'000'000));
            const auto source = open_source(path, mode);
            FileContent parts;
            parts.copy(std::string(16 * os::page_size(), 'x'));
            parts.range(source, 0, 3'000'000);
            const auto places = std::make_shared<const os::OutputFolder>(folder.path(), "out");
            os::NewFile out(places, "out", "out", {});
            WritePlan plan;
            plan.before = [&](std::size_t call) {
                if (call == 1) fs::resize_file(path, 1'000'000);
            };
            if (!copies) plan.never[Write::copy] = ENOSYS;
            struct ToFile final : save::Sink {
                explicit ToFile(os::NewFile& file_) : file(file_) {}
                void write(ByteView bytes) override { file.write(bytes); }
                [[nodiscard]] std::uint64_t copy(const os::File& from, std::uint64_t offset,
                                                 std::uint64_t nbytes) override {
                    return file.copy(from, offset, nbytes);
                }
                os::NewFile& file;
            } sink(out);
            const WatchedWrites watched(plan);
            CHECK(code_of([&] { return save::write_content(parts, sink); }) == "file.changed");
        }
    }
}

TEST_CASE("write_content: a mapped file without a descriptor or a name is read from its mapping") {
    const TemporaryFolder folder;
    const std::string text = numbered(300'000);
    const std::string path = folder.write("f", text);
    const auto mapped = open_source(path, IoMode::mmap);
    const auto read = open_source(path, IoMode::read);
    folder.write("new", "other");
    fs::rename(folder / "new", path);
    os::close_held();
    FileContent parts;
    parts.range(mapped, 5, 10);
    parts.copy("|");
    parts.range(mapped, 11, 299'989);
    Recorder sink(1 << 30);
    static_cast<void>(save::write_content(parts, sink));
    CHECK((sink.text == text.substr(5, 10) + '|' + text.substr(11)));
    FileContent lost;
    lost.range(read, 0, 10);
    CHECK(code_of([&] { return save::write_content(lost, sink); }) == "file.changed");
}

}  // namespace onnxmap::test
