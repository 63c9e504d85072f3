// read_or_leave() copies mapped bytes. If bytes are missing, it stops at once and maps no zeros.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include "caught.hpp"
#include "child_process.hpp"
#include "os/parallel.hpp"
#include "source/mapped_pages.hpp"
#include "source/read_guard.hpp"

namespace onnxmap::test {

namespace {

constexpr std::size_t kPages = 8;

// Reads a byte of each page; returns "accepted" or the code of the error.
std::string read_pages(const MappedPages& pages, std::array<int, kPages>& found) {
    return code_of([&] {
        source::read_or_leave(pages.source(), [&] {
            for (std::size_t i = 0; i < kPages; ++i) found[i] = pages.byte_of(i);
        });
        return 0;
    });
}

}  // namespace

TEST_CASE("read_or_leave: bytes that are there are read") {
    const MappedPages pages(kPages);
    std::array<int, kPages> found{};
    CHECK(read_pages(pages, found) == "accepted");
    CHECK(found == std::array<int, kPages>{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("read_or_leave: stops at missing bytes, and maps no zeros") {
    const MappedPages pages(kPages);
    pages.cut(3);
    for (int round = 0; round < 3; ++round) {
        std::array<int, kPages> found{};
        CHECK(read_pages(pages, found) == "file.changed");
        CHECK(found == std::array<int, kPages>{1, 2, 3, 0, 0, 0, 0, 0});
        CHECK(pages.is_whole());
        CHECK(pages.source().guarded_region().lost->times.load() == 0);
    }
    // A read without protection still ends the process.
    CHECK(in_child([&] { return pages.byte_of(5); }) == Ending{-1, SIGBUS});
}

TEST_CASE("read_or_leave: works under a guard of the same source, and around a guard") {
    const MappedPages pages(kPages);
    const MappedPages others(kPages);
    pages.cut(3);
    others.cut(3);
    std::array<int, kPages> found{};
    {
        const source::ReadGuard guard(pages.source());
        CHECK(read_pages(pages, found) == "file.changed");
        guard.check();  // it saw nothing of that read
        CHECK(pages.byte_of(3) == 0);
        CHECK(read_pages(pages, found) == "file.changed");  // reading its zeros is not a fault
        CHECK(code_of([&] {
                  guard.check();
                  return 0;
              }) == "file.changed");
    }
    CHECK(pages.is_whole());
    CHECK(code_of([&] {
              source::read_or_leave(pages.source(), [&] {
                  const source::ReadGuard guard(others.source());
                  found[0] = others.byte_of(6);
              });
              return 0;
          }) == "accepted");
    CHECK(found[0] == 0);
    CHECK(others.is_whole());
}

TEST_CASE("read_or_leave: if several threads fail, the first error counts") {
    const MappedPages pages(kPages);
    pages.cut(2);
    CHECK(code_of([&] {
              os::for_each_range(kPages, 1, [&](std::uint64_t i, std::uint64_t) {
                  source::read_or_leave(pages.source(), [&] {
                      const int byte = pages.byte_of(i);
                      static_cast<void>(byte);
                  });
              });
              return 0;
          }) == "file.changed");
    CHECK(pages.is_whole());
}

}  // namespace onnxmap::test
