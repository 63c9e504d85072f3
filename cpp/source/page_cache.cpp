#include "source/page_cache.hpp"

#include <algorithm>
#include <memory>

#include "base/error.hpp"

namespace onnxmap::source {

void prefetch(const Source& source, std::uint64_t offset, std::uint64_t nbytes) {
    if (nbytes == 0 || !source.in_file()) return;
    const os::Pages pages = os::pages_around(source.size(), offset, offset + nbytes);
    if (source.maps_file()) {
        os::prefetch(source.bytes(), pages);  // needs no descriptor
    } else {
        os::prefetch(*source.file(), pages);
    }
}

bool populate(const Source& source, std::uint64_t offset, std::uint64_t nbytes) noexcept {
    if (nbytes == 0 || !source.maps_file()) return true;
    return os::populate(source.bytes(), os::pages_around(source.size(), offset, offset + nbytes));
}

void release(const Source& source, std::uint64_t offset, std::uint64_t nbytes) noexcept {
    if (nbytes == 0 || !source.maps_file()) return;
    os::release(source.bytes(), os::pages_within(source.size(), offset, offset + nbytes));
}

void evict(const Source& source, std::uint64_t offset, std::uint64_t nbytes) {
    if (nbytes == 0 || !source.in_file()) return;
    const os::Pages pages = os::pages_within(source.size(), offset, offset + nbytes);
    if (pages.nbytes() == 0) return;
    release(source, offset, nbytes);
    if (const auto file = source.file_if_any()) os::drop(*file, pages);
}

void for_each_page_run(const Source& source, std::uint64_t begin, std::uint64_t end,
                       const os::VisitRun& visit) {
    if (begin >= end) return;
    const os::Pages all = os::pages_around(source.size(), begin, end);
    if (!source.in_file()) {
        visit(all.begin, all.end, source.viewable());
    } else if (source.maps_file()) {
        os::for_each_page_run(source.bytes(), source.path(), all, visit);
    } else {
        os::for_each_page_run(*source.file(), all, visit);
    }
}

bool is_cached(const Source& source, std::uint64_t offset) {
    const auto file = source.file_if_any();
    return file == nullptr || os::is_cached(*file, offset);
}

void tell_absent(const Source& source, std::uint64_t begin, std::uint64_t end,
                 const VisitAbsent& visit) {
    try {
        for_each_absent(source, begin, end, visit);
    } catch (const Failure&) {
        // Advice is not worth an error.
    }
}

void prefetch_absent(const Source& source, std::uint64_t begin, std::uint64_t end,
                     const VisitAbsent& visit) {
    tell_absent(source, begin, end, [&](std::uint64_t first, std::uint64_t last) {
        visit(first, last);
        prefetch(source, first, last - first);
    });
}

std::uint64_t read_ahead_nbytes(const Source& source) {
    const auto file = source.file_if_any();
    return file == nullptr ? 0 : os::read_ahead_nbytes(*file);
}

std::uint64_t resident_bytes(const Source& source, std::uint64_t offset, std::uint64_t nbytes) {
    const std::uint64_t end = offset + nbytes;
    std::uint64_t sum = 0;
    for_each_page_run(source, offset, end,
                      [&](std::uint64_t first, std::uint64_t last, bool resident) {
                          if (resident) sum += std::min(last, end) - std::max(first, offset);
                      });
    return sum;
}

}  // namespace onnxmap::source
