// The pages of files in the page cache: asks for them, drops them, and checks which are resident. A
// mapping of a file is given by its bytes, which begin at a page. If the system has no call for an
// operation, the function does nothing or reports that it does not know: all of it is only advice.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/bytes.hpp"
#include "os/file.hpp"
#include "os/page_ranges.hpp"

namespace onnxmap::os {

/// A fault maps the resident pages around it: at most this many bytes, a huge page, before and
/// after the page. The page cache may load and drop pages in pieces of the same size.
inline constexpr std::uint64_t kMappedAround = 2 << 20;

/// Asks for the pages, and does not wait for them. A request for many pages may take as long as
/// reading them.
void prefetch(const File& file, Pages pages) noexcept;
void prefetch(ByteView mapping, Pages pages) noexcept;

/// Maps the pages before they are touched, and waits until they are read. Lost pages are reported
/// only when they are touched. False if the system cannot do this.
bool populate(ByteView mapping, Pages pages) noexcept;

/// Unmaps these pages of a mapping: they no longer count as this process's memory, and are mapped
/// again when touched. They stay in the page cache.
void release(ByteView mapping, Pages pages) noexcept;

/// Drops the pages from the page cache, except pages that it must keep: dirty pages, pages that
/// other processes have mapped, parts of a folio, and files that exist only in memory.
void drop(const File& file, Pages pages) noexcept;

/// Called for a run of pages that are all in memory, or all not.
using VisitRun = std::function<void(std::uint64_t begin, std::uint64_t end, bool resident)>;

/// Calls visit() for the runs of the pages, in order. Linux reports residency only to a file's
/// owner and to users who may write to it; for others all pages count as resident. Throws FileError
/// if the system does not report residency at all.
void for_each_page_run(const File& file, Pages pages, const VisitRun& visit);
/// Does the same for a mapping; `path` is for error texts.
void for_each_page_run(ByteView mapping, const std::string& path, Pages pages,
                       const VisitRun& visit);

/// Whether the byte at `offset`, within the file, could be read without waiting for a disk. True if
/// the file system does not report it.
[[nodiscard]] bool is_cached(const File& file, std::uint64_t offset) noexcept;

/// The system's read-ahead for sequential reads of the file; 0 if the system does not report it.
[[nodiscard]] std::uint64_t read_ahead_nbytes(const File& file);

}  // namespace onnxmap::os
