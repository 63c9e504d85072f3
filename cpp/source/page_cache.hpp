// The pages of a source that the operating system keeps in memory; see os/page_cache.hpp. The bytes
// of a buffer are in memory anyway, and the system keeps none of what is behind a URL: there is
// nothing to ask for and nothing to give back.
#pragma once

#include <cstdint>
#include <functional>

#include "os/page_cache.hpp"
#include "source/source.hpp"

namespace onnxmap::source {

/// Asks for the pages of bytes offset .. offset + nbytes, and does not wait for them. May take as
/// long as reading takes where much is asked for. Throws Error `file.changed` and FileError where
/// a file that is not mapped cannot be opened again.
void prefetch(const Source& source, std::uint64_t offset, std::uint64_t nbytes);

/// Maps the pages of those bytes before they are touched, and waits until they are read. Pages that
/// the file has lost are left to whoever touches them. False where the system cannot do this.
bool populate(const Source& source, std::uint64_t offset, std::uint64_t nbytes) noexcept;

/// Whether the system has populate() (Linux 5.14) and lets this process use it.
[[nodiscard]] bool can_populate(const Source& source) noexcept;

/// The process lets go of the pages of a mapping that are wholly within the bytes: they no longer
/// count as its memory, and come back when they are touched. They stay in the page cache.
void release(const Source& source, std::uint64_t offset, std::uint64_t nbytes) noexcept;

/// release(), and then the page cache drops those pages; see os::drop.
void evict(const Source& source, std::uint64_t offset, std::uint64_t nbytes);

/// Calls visit(begin, end, resident) for the runs of pages that bytes begin .. end are in, in
/// order. Throws what os::for_each_page_run and prefetch() throw.
void for_each_page_run(const Source& source, std::uint64_t begin, std::uint64_t end,
                       const os::VisitRun& visit);

/// The same for the pages that are not in the page cache now.
template <class Visit>
void for_each_absent(const Source& source, std::uint64_t begin, std::uint64_t end, Visit&& visit) {
    for_each_page_run(source, begin, end,
                      [&](std::uint64_t first, std::uint64_t last, bool resident) {
                          if (!resident) visit(first, last);
                      });
}

/// The same; of none where the system does not tell, or the file cannot be had.
void tell_absent(const Source& source, std::uint64_t begin, std::uint64_t end,
                 const std::function<void(std::uint64_t begin, std::uint64_t end)>& visit);

/// prefetch() of those, each run of which visit() is told before: it is only advice.
void prefetch_absent(const Source& source, std::uint64_t begin, std::uint64_t end,
                     const std::function<void(std::uint64_t begin, std::uint64_t end)>& visit);

/// Whether the byte at `offset` could be read without waiting for a disk. Yes also where the file
/// cannot be had.
[[nodiscard]] bool is_cached(const Source& source, std::uint64_t offset);

/// How far the system reads ahead of who reads the file on and on, of its disk; 0 where it does not
/// tell.
[[nodiscard]] std::uint64_t read_ahead_nbytes(const Source& source);

/// How many of the bytes are in memory. Throws as for_each_page_run() does.
[[nodiscard]] std::uint64_t resident_bytes(const Source& source, std::uint64_t offset,
                                           std::uint64_t nbytes);

}  // namespace onnxmap::source
