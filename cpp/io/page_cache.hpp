// The pages of files that the operating system keeps in memory: asking for them, giving them back,
// looking which are there. All of it is about bytes of a source; those of a buffer are in memory
// anyway, and the system keeps none of what is behind a URL: there is nothing to ask for and
// nothing to give back.
#pragma once

#include <cstdint>
#include <functional>

#include "io/file.hpp"
#include "io/source.hpp"

namespace onnxmap::io {

/// Bytes of a file that the operating system deals with as one.
[[nodiscard]] std::uint64_t page_size() noexcept;

/// Asks for the pages of bytes offset .. offset + nbytes, and does not wait for them. May take as
/// long as reading takes where much is asked for. Throws Error `file.changed` and FileError where
/// a file that is not mapped cannot be opened again.
void prefetch(const Source& source, std::uint64_t offset, std::uint64_t nbytes);
void prefetch(const File& file, std::uint64_t offset, std::uint64_t nbytes) noexcept;

/// Maps the pages of those bytes before they are touched, and waits until they are read. Pages that
/// the file has lost are left to whoever touches them. False where the system cannot do this.
bool populate(const Source& source, std::uint64_t offset, std::uint64_t nbytes) noexcept;

/// Whether the system has populate() (Linux 5.14) and lets this process use it.
[[nodiscard]] bool can_populate(const Source& source) noexcept;

/// A fault maps what is in memory around it: at most this many bytes before and behind the page, a
/// huge page. Pages of the cache come and go in pieces that may be as large.
inline constexpr std::uint64_t kMappedAround = 2 << 20;

/// The process lets go of the pages of a mapping that are wholly within the bytes: they no longer
/// count as its memory, and come back when they are touched. They stay in the page cache.
void release(const Source& source, std::uint64_t offset, std::uint64_t nbytes) noexcept;

/// release(), and then the page cache drops those pages. Some it keeps: what is not on disk yet,
/// what others have mapped, parts of a folio, and all of a file that is nowhere but in memory.
void evict(const Source& source, std::uint64_t offset, std::uint64_t nbytes);

/// Calls visit(begin, end, resident) for the runs of pages that bytes begin .. end are in, in
/// order: offsets of whole pages, but the file may end within the last one. Linux tells this to
/// the owner of a file and to those who may write to it; to others all pages are resident.
/// Throws FileError where the system does not tell at all, and what prefetch() throws.
void for_each_page_run(
    const Source& source, std::uint64_t begin, std::uint64_t end,
    const std::function<void(std::uint64_t begin, std::uint64_t end, bool resident)>& visit);

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

/// Whether the byte at `offset`, within the file, could be read without waiting for a disk. Yes
/// where the file system does not tell.
[[nodiscard]] bool is_cached(const File& file, std::uint64_t offset) noexcept;
/// The same; yes also where the file cannot be had.
[[nodiscard]] bool is_cached(const Source& source, std::uint64_t offset);

/// How far the system reads ahead of who reads the file on and on, of its disk; 0 where it does not
/// tell.
[[nodiscard]] std::uint64_t read_ahead_nbytes(const Source& source);

/// How many of the bytes are in memory. Throws as for_each_page_run() does.
[[nodiscard]] std::uint64_t resident_bytes(const Source& source, std::uint64_t offset,
                                           std::uint64_t nbytes);

}  // namespace onnxmap::io
