#include "source/read_guard.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <string>

#include "caught.hpp"
#include "child_process.hpp"
#include "plain_os.hpp"
#include "source/guard_outcomes.hpp"
#include "source/mapped_pages.hpp"

namespace onnxmap::test {

namespace {

const Ending kBusError{-1, SIGBUS};

}  // namespace

TEST_CASE("read_guard: nothing happens if no page is missing") {
    const MappedPages pages(4);
    const source::ReadGuard guard(pages.source());
    CHECK(pages.byte_of(3) == 4);
    guard.check();
    // The guard does not care that the file changed, if the pages that are read are there.
    pages.cut(3);
    CHECK(pages.byte_of(2) == 3);
    guard.check();
}

TEST_CASE("read_guard: lost pages read as zeros, and the check is an error") {
    const MappedPages pages(8);
    pages.cut(2);
    const source::ReadGuard guard(pages.source());
    CHECK(pages.byte_of(1) == 2);
    CHECK(code(guard) == "accepted");
    CHECK(pages.byte_of(5) == 0);
    CHECK(pages.byte_of(7) == 0);
    CHECK(pages.byte_of(1) == 2);
    const auto error = error_of([&] {
        guard.check();
        return 0;
    });
    REQUIRE(error);
    CHECK(error->code == "file.changed");
    CHECK(error->file == pages.path());
    const std::string text = error->what();
    CHECK(text.find(std::to_string(8 * MappedPages::page())) != std::string::npos);
    CHECK(text.find(std::to_string(2 * MappedPages::page())) != std::string::npos);
    CHECK(code(guard) == "file.changed");
}

TEST_CASE("read_guard: lost pages may be read in any order, also again") {
    ONNXMAP_NEEDS_LINUX("a second mapping of what is mapped");
    const MappedPages pages(16);
    pages.cut(1);
    CHECK(pages.is_whole());
    {
        const source::ReadGuard guard(pages.source());
        for (const std::size_t page : {9UL, 12UL, 9UL, 4UL, 15UL, 1UL, 2UL}) {
            CAPTURE(page);
            CHECK(pages.byte_of(page) == 0);
        }
        CHECK(pages.byte_of(0) == 1);
        CHECK(code(guard) == "file.changed");
        // One mapping of the file's pages, and the zeros. One page of the file is kept aside.
        CHECK(pages.parts() == 2);
        CHECK(mappings_of(pages.path()) == 2);
    }
    CHECK(pages.is_whole());
}

TEST_CASE("read_guard: after the guard ends, the pages are the file's again") {
    ONNXMAP_NEEDS_LINUX("a second mapping of what is mapped");
    const MappedPages pages(8);
    CHECK(pages.is_whole());
    pages.cut(2);
    for (int round = 0; round < 3; ++round) {
        {
            const source::ReadGuard guard(pages.source());
            CHECK(pages.byte_of(6) == 0);
            CHECK(pages.byte_of(3) == 0);
        }
        CHECK(pages.is_whole());
        CHECK(read_unguarded(pages, 6) == kBusError);
        CHECK(read_unguarded(pages, 3) == kBusError);
        CHECK(read_unguarded(pages, 2) == kBusError);
        CHECK(read_unguarded(pages, 1) == Ending{2, 0});
    }
    pages.mend();
    for (std::size_t i = 0; i < 8; ++i) CHECK(pages.byte_of(i) == static_cast<int>(i + 1));
    const source::ReadGuard guard(pages.source());
    CHECK(pages.byte_of(6) == 7);
    guard.check();
}

TEST_CASE("read_guard: leaves no mapping behind") {
    ONNXMAP_NEEDS_LINUX("a second mapping of what is mapped");
    const MappedPages pages(32);
    pages.cut(1);
    const auto fall = [&](std::size_t round) {
        const source::ReadGuard guard(pages.source());
        for (std::size_t i = 0; i < 4; ++i) {
            if (pages.byte_of(1 + (round * 7 + i * 11) % 31) != 0) FAIL("the byte is not zero");
        }
    };
    for (std::size_t round = 0; round < 2'000; ++round) fall(round);
    CHECK(pages.is_whole());
}

TEST_CASE("read_guard: a guard may be inside another of the same file") {
    const MappedPages pages(8);
    pages.cut(2);
    const source::ReadGuard outer(pages.source());
    {
        const source::ReadGuard inner(pages.source());
        CHECK(pages.byte_of(5) == 0);
        CHECK(code(inner) == "file.changed");
    }
    CHECK(code(outer) == "file.changed");
    {
        const source::ReadGuard inner(pages.source());
        CHECK(code(inner) == "accepted");  // it has read nothing
        CHECK(pages.byte_of(1) == 2);
        CHECK(code(inner) == "accepted");
    }
    CHECK(pages.byte_of(5) == 0);  // under the outer guard
    {
        const source::ReadGuard inner(pages.source());
        // The zeros are there already. The inner guard cannot tell whether they were read under it.
        CHECK(pages.byte_of(5) == 0);
        CHECK(code(inner) == "file.changed");
    }
    CHECK(pages.byte_of(5) == 0);
}

TEST_CASE("read_guard: each guard protects only its own file") {
    const MappedPages cut(4);
    const MappedPages whole(4);
    cut.cut(1);
    {
        const source::ReadGuard outer(cut.source());
        const source::ReadGuard inner(whole.source());
        CHECK(cut.byte_of(2) == 0);
        CHECK(whole.byte_of(2) == 3);
        CHECK(code(inner) == "accepted");
        CHECK(code(outer) == "file.changed");
    }
    const source::ReadGuard guard(whole.source());
    CHECK(read_unguarded(cut, 2) == kBusError);
    whole.cut(1);
    CHECK(read_unguarded(whole, 2) == Ending{0, 0});  // the child inherits the guard
    CHECK(whole.byte_of(2) == 0);
    CHECK(read_unguarded(cut, 2) == kBusError);
}

TEST_CASE("read_guard: guarded work gives its result, or the error of the file") {
    const MappedPages pages(4);
    const auto read = [&](std::size_t page) {
        return source::guard_reads(pages.source(), [&] { return pages.byte_of(page); });
    };
    CHECK(read(2) == 3);
    int value = 0;
    source::guard_reads(pages.source(), [&] { value = pages.byte_of(1); });
    CHECK(value == 2);
    int& same = source::guard_reads(pages.source(), [&]() -> int& { return value; });
    CHECK(&same == &value);
    CHECK_THROWS_AS(source::guard_reads(pages.source(), [] { throw std::out_of_range("own"); }),
                    std::out_of_range);
    pages.cut(1);
    CHECK(code_of([&] { return read(2); }) == "file.changed");
    CHECK(code_of([&] {
              source::guard_reads(pages.source(), [&] { value = pages.byte_of(2); });
              return 0;
          }) == "file.changed");
    // The error of the file comes first, not an error that the work raised over zeros.
    CHECK(code_of([&] {
              source::guard_reads(pages.source(), [&] {
                  if (pages.byte_of(2) == 0) throw Error("wire.field_number", "made of zeros");
              });
              return 0;
          }) == "file.changed");
    CHECK_THROWS_AS(source::guard_reads(pages.source(), [] { throw std::out_of_range("own"); }),
                    std::out_of_range);
    CHECK(os::FaultGuard::current() == nullptr);
}

TEST_CASE("read_guard: if the file has not changed, the error is that of the disk") {
    ONNXMAP_NEEDS_LINUX("a second mapping of what is mapped");
    const MappedPages pages(8);
    pages.cut(2);
    const auto fall_and_mend = [&] {
        const int read = pages.byte_of(5);
        pages.mend();
        return read;
    };
    try {
        const source::ReadGuard guard(pages.source());
        CHECK(fall_and_mend() == 0);
        guard.check();
        FAIL("nothing was thrown");
    } catch (const FileError& error) {
        CHECK(error.number == EIO);
        CHECK(error.path == pages.path());
    }
    CHECK(pages.byte_of(5) == 6);
    pages.cut(2);
    CHECK(errno_of([&] { return source::guard_reads(pages.source(), fall_and_mend); }) == EIO);
    CHECK(pages.byte_of(5) == 6);
}

TEST_CASE("read_guard: the last page of a file may be incomplete") {
    const TemporaryFolder folder;
    const std::size_t page = MappedPages::page();
    const std::string path = folder.write("f", ByteView(Bytes(3 * page + 10, 7)));
    const auto source = open_source(path, source::IoMode::mmap);
    std::filesystem::resize_file(path, page);
    {
        const source::ReadGuard guard(*source);
        CHECK(*static_cast<const volatile std::uint8_t*>(source->data() + 3 * page + 9) == 0);
        CHECK(*static_cast<const volatile std::uint8_t*>(source->data() + 2 * page) == 0);
        CHECK(code(guard) == "file.changed");
    }
    CHECK(mappings_of(path) == 1);
    // A guard of an empty file does no harm.
    const auto empty = open_source(folder.write("empty", ""), source::IoMode::mmap);
    const source::ReadGuard guard(*empty);
    guard.check();
}

}  // namespace onnxmap::test
