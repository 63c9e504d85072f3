// The pages of a source in the page cache; see os/page_cache.hpp. For buffers and remote files
// these functions do nothing: a buffer is in memory anyway, and the page cache holds nothing of a
// remote file.
#pragma once

#include <cstdint>
#include <functional>

#include "os/page_cache.hpp"
#include "source/source.hpp"

namespace onnxmap::source {

/// Asks for the pages of bytes offset .. offset + nbytes, and does not wait for them. A request for
/// many pages may take as long as reading them. Throws Error `file.changed` and FileError if an
/// unmapped file cannot be opened again.
void prefetch(const Source& source, std::uint64_t offset, std::uint64_t nbytes);

/// Maps the pages of the bytes before they are touched, and waits until they are read. Lost pages
/// are reported only when they are touched. False if the system cannot do this.
bool populate(const Source& source, std::uint64_t offset, std::uint64_t nbytes) noexcept;

/// Unmaps the pages of a mapping that lie wholly within the bytes: they no longer count as this
/// process's memory, and are mapped again when touched. They stay in the page cache.
void release(const Source& source, std::uint64_t offset, std::uint64_t nbytes) noexcept;

/// Calls release(), and then drops the pages from the page cache; see os::drop.
void evict(const Source& source, std::uint64_t offset, std::uint64_t nbytes);

/// Calls visit(begin, end, resident) for the runs of pages that hold bytes begin .. end, in order.
/// Throws what os::for_each_page_run and prefetch() throw.
void for_each_page_run(const Source& source, std::uint64_t begin, std::uint64_t end,
                       const os::VisitRun& visit);

/// Calls visit(begin, end) for the runs of pages that are not in the page cache now.
template <class Visit>
void for_each_absent(const Source& source, std::uint64_t begin, std::uint64_t end, Visit&& visit) {
    for_each_page_run(source, begin, end,
                      [&](std::uint64_t first, std::uint64_t last, bool resident) {
                          if (!resident) visit(first, last);
                      });
}

using VisitAbsent = std::function<void(std::uint64_t begin, std::uint64_t end)>;

/// Calls visit(begin, end) for the same runs. Visits none if the system does not report residency,
/// or if the file cannot be opened.
void tell_absent(const Source& source, std::uint64_t begin, std::uint64_t end,
                 const VisitAbsent& visit);

/// Calls visit() and then prefetch() for each of these runs. Ignores failures, since this is only
/// advice.
void prefetch_absent(const Source& source, std::uint64_t begin, std::uint64_t end,
                     const VisitAbsent& visit);

/// Whether the byte at `offset` could be read without waiting for a disk. True if the file cannot
/// be opened.
[[nodiscard]] bool is_cached(const Source& source, std::uint64_t offset);

/// The system's read-ahead for sequential reads of the file's disk; 0 if the system does not report
/// it.
[[nodiscard]] std::uint64_t read_ahead_nbytes(const Source& source);

/// The number of bytes that are in memory. Throws what for_each_page_run() throws.
[[nodiscard]] std::uint64_t resident_bytes(const Source& source, std::uint64_t offset,
                                           std::uint64_t nbytes);

}  // namespace onnxmap::source
