// What the plain substitutes for Linux's additions to POSIX do. Only a build with ONNXMAP_PLAIN_OS
// has these cases.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string>

#include "caught.hpp"
#include "child_process.hpp"
#include "contain/opened_text.hpp"
#include "contain/rooted_path.hpp"
#include "os/file_system.hpp"
#include "os/lost_pages.hpp"
#include "os/processors.hpp"
#include "source/mapped_pages.hpp"
#include "source/page_cache.hpp"
#include "source/read_guard.hpp"
#include "temporary_folder.hpp"

namespace onnxmap::test {

namespace {

using contain::LinkPolicy;

int read_guarded(const MappedPages& pages, std::size_t number) {
    return source::guard_reads(pages.source(), [&] { return pages.byte_of(number); });
}

// How a child process ends that reads a page without a guard.
Ending touch_in_child(const MappedPages& pages, std::size_t number) {
    return in_child([&] {
        std::signal(SIGBUS, SIG_DFL);
        return pages.byte_of(number);
    });
}

}  // namespace

TEST_CASE("plain_os: the page cache cannot be asked about, and advice does nothing") {
    for (const source::IoMode mode : {source::IoMode::mmap, source::IoMode::read}) {
        const TemporaryFolder folder;
        const auto source = open_source(folder.write("f", std::string(100'000, 'x')), mode);
        CHECK(errno_of([&] { return source::resident_bytes(*source, 0, 100'000); }) == ENOTSUP);
        source::tell_absent(*source, 0, 100'000, [](auto, auto) { FAIL("this cannot be known"); });
        source::prefetch(*source, 0, 100'000);
        source::release(*source, 0, 100'000);
        source::evict(*source, 0, 100'000);
        CHECK(source::populate(*source, 0, 100'000) == (mode == source::IoMode::read));
        CHECK(source::is_cached(*source, 0));
        CHECK(source::read_ahead_nbytes(*source) == 0);
        std::uint8_t last = 0;
        source->read(99'999, {&last, 1});
        CHECK(last == 'x');
    }
}

TEST_CASE("plain_os: lost pages stay lost, and are never read as zeros") {
    const MappedPages pages(6);
    CHECK(read_guarded(pages, 4) == 5);
    pages.cut(3);
    CHECK(code_of([&] { return read_guarded(pages, 4); }) == "file.changed");
    pages.mend();
    CHECK(read_guarded(pages, 2) == 3);
    // The file has its bytes again, but POSIX cannot map it again.
    CHECK(errno_of([&] { return read_guarded(pages, 4); }) == EIO);
    CHECK(errno_of([&] { return read_guarded(pages, 5); }) == EIO);
    CHECK(touch_in_child(pages, 4) == Ending{-1, SIGBUS});
    CHECK(touch_in_child(pages, 2) == Ending{3, 0});
}

TEST_CASE("plain_os: lost pages are told from others") {
    const MappedPages pages(4);
    pages.cut(2);
    os::prepare_for_lost_pages();
    auto* const begin = const_cast<std::uint8_t*>(pages.source().data());
    for (int i = 0; i < 3; ++i) {
        CHECK(!os::is_lost(begin, MappedPages::page()));
        CHECK(!os::is_lost(begin + MappedPages::page(), MappedPages::page()));
        CHECK(os::is_lost(begin + 2 * MappedPages::page(), MappedPages::page()));
    }
}

TEST_CASE("plain_os: files of the kernel are not opened under any policy") {
    const TemporaryFolder folder;
    folder.write("w.bin", "weights");
    folder.write("empty", "");
    int links = 0;
    for (const char* target :
         {"/proc/self/environ", "/proc/self/maps", "/sys/kernel/mm/transparent_hugepage/enabled"}) {
        if (::access(target, R_OK) != 0) continue;
        const std::string name = "link" + std::to_string(links++);
        std::filesystem::create_symlink(target, folder / name);
        const Roots roots = {os::Folder::open_shared(folder.path().string())};
        CHECK(open_contained(roots, name) == refusal_text(contain::Refusal::leads_outside));
        CHECK(open_contained(roots, name, {LinkPolicy::trusted}) ==
              refusal_text(contain::Refusal::not_regular));
        CHECK(open_contained(roots, "w.bin", {LinkPolicy::trusted}) == "weights");
        CHECK(open_contained(roots, "empty") == "");
    }
    CHECK(links > 0);
}

TEST_CASE("plain_os: an open file has no known path, and no file system a known type") {
    const TemporaryFolder folder;
    const os::File file = os::File::open(folder.write("f", "x"));
    CHECK(os::path_of_open(file.descriptor()).empty());
    const Roots roots = {os::Folder::open_shared(folder.path().string())};
    CHECK(!contain::rooted_path_of(file, roots));
    CHECK(!file.on_network());
    CHECK(file.identity().born_ns == 0);
    CHECK(os::usable_cpus() >= 1);
}

}  // namespace onnxmap::test
