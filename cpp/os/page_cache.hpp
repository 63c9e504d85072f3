// The pages of files that the operating system keeps in memory: asking for them, giving them back,
// looking which are there. A mapping of a file is given by its bytes, which begin at a page.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/bytes.hpp"
#include "os/file.hpp"

namespace onnxmap::os {

/// Bytes of a file that the operating system deals with as one.
[[nodiscard]] std::uint64_t page_size() noexcept;

/// A fault maps what is in memory around it: at most this many bytes before and behind the page, a
/// huge page. Pages of the cache come and go in pieces that may be as large.
inline constexpr std::uint64_t kMappedAround = 2 << 20;

/// Pages of a file: offsets of whole pages, but the file may end within the last one.
struct Pages {
    std::uint64_t begin;
    std::uint64_t end;

    [[nodiscard]] std::uint64_t nbytes() const noexcept { return end - begin; }
};

/// Those that bytes begin .. end of a file of `size` bytes are in.
[[nodiscard]] Pages pages_around(std::uint64_t size, std::uint64_t begin,
                                 std::uint64_t end) noexcept;
/// Those that are wholly within the bytes, which may be none. Behind the end of the file nothing is
/// left of a page.
[[nodiscard]] Pages pages_within(std::uint64_t size, std::uint64_t begin,
                                 std::uint64_t end) noexcept;

/// Asks for the pages, and does not wait for them. May take as long as reading if much is asked
/// for.
void prefetch(const File& file, Pages pages) noexcept;
void prefetch(ByteView mapping, Pages pages) noexcept;

/// Maps the pages before they are touched, and waits until they are read. Pages that the file has
/// lost are left to whoever touches them. False if the system cannot do this.
bool populate(ByteView mapping, Pages pages) noexcept;

/// Whether the system has populate() (Linux 5.14) and lets this process use it.
[[nodiscard]] bool can_populate(ByteView mapping) noexcept;

/// The process lets go of these pages of a mapping: they no longer count as its memory, and come
/// back when they are touched. They stay in the page cache.
void release(ByteView mapping, Pages pages) noexcept;

/// The page cache drops the pages, except those that it must keep: what is not on disk yet, what
/// others have mapped, parts of a folio, and all of a file that is nowhere but in memory.
void drop(const File& file, Pages pages) noexcept;

/// Called for a run of pages that all are in memory, or all are not.
using VisitRun = std::function<void(std::uint64_t begin, std::uint64_t end, bool resident)>;

/// Calls visit() for the runs that the pages consist of, in order. Linux tells this to the owner of
/// a file and to those who may write to it; to others all pages are resident. Throws FileError if
/// the system does not tell at all.
void for_each_page_run(const File& file, Pages pages, const VisitRun& visit);
/// The same; `path` is what messages say.
void for_each_page_run(ByteView mapping, const std::string& path, Pages pages,
                       const VisitRun& visit);

/// Whether the byte at `offset`, within the file, could be read without waiting for a disk. Yes
/// if the file system does not tell.
[[nodiscard]] bool is_cached(const File& file, std::uint64_t offset) noexcept;

/// How far the system reads ahead if the file is read on and on; 0 if it does not tell.
[[nodiscard]] std::uint64_t read_ahead_nbytes(const File& file);

}  // namespace onnxmap::os
