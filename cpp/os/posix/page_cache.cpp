// POSIX has advice for mappings, and no way to look into the page cache.
#include "os/page_cache.hpp"

#include <sys/mman.h>

#include <cerrno>

#include "base/error.hpp"

namespace onnxmap::os {

namespace {

void advise(ByteView mapping, Pages pages, int advice) noexcept {
    if (pages.nbytes() == 0) return;
    ::posix_madvise(const_cast<std::uint8_t*>(mapping.data()) + pages.begin, pages.nbytes(),
                    advice);
}

}  // namespace

void prefetch(const File&, Pages) noexcept {}

void prefetch(ByteView mapping, Pages pages) noexcept {
    advise(mapping, pages, POSIX_MADV_WILLNEED);
}

bool populate(ByteView, Pages) noexcept { return false; }

void release(ByteView mapping, Pages pages) noexcept {
    advise(mapping, pages, POSIX_MADV_DONTNEED);
}

void drop(const File&, Pages) noexcept {}

void for_each_page_run(const File& file, Pages, const VisitRun&) {
    throw FileError(ENOTSUP, file.path());
}

void for_each_page_run(ByteView, const std::string& path, Pages, const VisitRun&) {
    throw FileError(ENOTSUP, path);
}

bool is_cached(const File&, std::uint64_t) noexcept { return true; }

std::uint64_t read_ahead_nbytes(const File&) { return 0; }

}  // namespace onnxmap::os
