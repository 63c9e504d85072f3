#include "os/file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "caught.hpp"
#include "opened.hpp"
#include "source/source.hpp"
#include "temporary_folder.hpp"
#include "wire_bytes.hpp"

namespace onnxmap::test {

TEST_CASE("file: reads the requested bytes") {
    const TemporaryFolder folder;
    const auto file = os::File::open(folder.write("f", "0123456789"));
    CHECK(file.size() == 10);
    CHECK(file.path() == folder / "f");
    Bytes out(4);
    file.read(3, out);
    CHECK(out == from_text("3456"));
    file.read(10, {});
    const auto error = error_of([&] {
        file.read(8, out);
        return 0;
    });
    REQUIRE(error);
    CHECK(error->code == "file.changed");
    CHECK(error->offset == 10);
}

TEST_CASE("file: a file that was written to has changed") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "0123456789");
    const auto file = os::File::open(path);
    const os::FileIdentity before = file.identity();
    CHECK(before.size == 10);
    CHECK(before == os::File::open(path).identity());
    const auto code = [&] {
        return code_of([&] {
            os::check_same_state(path, before, file.status().identity);
            return 0;
        });
    };
    CHECK(code() == "accepted");
    // A rename, a new link or another mode does not change the file.
    std::filesystem::rename(path, folder / "g");
    std::filesystem::create_hard_link(folder / "g", folder / "h");
    REQUIRE(::chmod((folder / "g").c_str(), 0400) == 0);
    CHECK(code() == "accepted");
    REQUIRE(::chmod((folder / "g").c_str(), 0600) == 0);
    std::filesystem::resize_file(folder / "g", 9);
    CHECK(code() == "file.changed");
    CHECK(file.identity() == before);  // as when it was opened
    CHECK(os::File::open(folder.write("other", "0123456789")).identity() != before);
}

TEST_CASE("file: only a regular file is opened, and no descriptor of another is kept") {
    const TemporaryFolder folder;
    const std::size_t before = open_descriptors();
    REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
    // Opening a FIFO without a writer could wait for ever. The time limit of the test would notice
    // that.
    const auto error = error_of([&] { return os::File::open(folder / "fifo"); });
    REQUIRE(error);
    CHECK(error->code == "model.not_regular");
    CHECK(error->file == folder / "fifo");
    CHECK(code_of([] { return os::File::open("/dev/null"); }) == "model.not_regular");
    CHECK(errno_of([&] { return os::File::open(folder.path().string()); }) == EISDIR);
    CHECK(errno_of([&] { return os::File::open(folder / "missing"); }) == ENOENT);
    CHECK(open_descriptors() == before);
}

TEST_CASE("file: moving a File moves its descriptor") {
    const TemporaryFolder folder;
    folder.write("a", "aa");
    folder.write("b", "bbb");
    const std::size_t before = open_descriptors();
    {
        auto a = os::File::open(folder / "a");
        auto b = os::File::open(folder / "b");
        CHECK(open_descriptors() == before + 2);
        a = std::move(b);
        CHECK(a.size() == 3);
        const auto c = std::move(a);
        Bytes out(3);
        c.read(0, out);
        CHECK(out == from_text("bbb"));
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("source: mapped and read files have the same bytes") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "the bytes of a file");
    const std::size_t before = open_descriptors();
    {
        const auto mapped = open_source(path, source::IoMode::mmap);
        const auto copied = open_source(path, source::IoMode::read);
        CHECK(std::string(mapped->kind()) == "mmap");
        CHECK(std::string(copied->kind()) == "read");
        CHECK(mapped->viewable());
        CHECK_FALSE(copied->viewable());
        for (const auto& source : {mapped, copied}) {
            static_cast<void>(source->feed());  // from here on both sources have addresses
            CHECK(source->path() == path);
            CHECK(as_text(source->resident(source->bytes())) == "the bytes of a file");
            CHECK(source->offset_of(source->bytes().subspan(4)) == 4);
            Bytes out(5);
            source->read(4, out);
            CHECK(out == from_text("bytes"));
        }
        CHECK(std::string(open_source(path, source::IoMode::automatic)->kind()) != "buffer");
    }
    CHECK(open_descriptors() == before);
}

TEST_CASE("source: a mapping holds no descriptor, and opens one to check the file") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "the bytes of a file");
    const std::size_t before = open_descriptors();
    const auto source = open_source(path, source::IoMode::mmap);
    os::close_held();
    CHECK(open_descriptors() == before);
    CHECK(as_text(source->bytes()) == "the bytes of a file");
    Bytes out(5);
    source->read(4, out);
    CHECK(out == from_text("bytes"));
    CHECK(open_descriptors() == before);
    CHECK(as_text(source->feed()->at(4, 5)).substr(0, 5) == "bytes");
    CHECK(open_descriptors() == before + 1);
    os::close_held();
    CHECK(open_descriptors() == before);
    source->read_file(9, out);
    CHECK(out == from_text(" of a"));
}

TEST_CASE("source: an empty file is not an error") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "");
    for (const auto mode :
         {source::IoMode::mmap, source::IoMode::read, source::IoMode::automatic}) {
        const auto source = open_source(path, mode);
        CHECK(source->size() == 0);
        CHECK(source->feed()->size() == 0);
        CHECK(source->resident(source->bytes()).empty());
    }
}

TEST_CASE("source: files replaced by rename keep the bytes they had when opened") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "old bytes");
    const auto mapped = open_source(path, source::IoMode::mmap);
    const auto copied = open_source(path, source::IoMode::read);
    folder.write("g", "new");
    std::filesystem::rename(folder / "g", path);
    CHECK(as_text(mapped->bytes()) == "old bytes");
    CHECK(as_text(copied->resident(copied->bytes())) == "old bytes");
}

}  // namespace onnxmap::test
