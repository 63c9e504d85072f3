// Memory from the operating system: pages of files, and new pages. The caller must unmap them.
#pragma once

#include <cstdint>

#include "os/file.hpp"

namespace onnxmap::os {

/// Maps the whole file for reading. Null for an empty file. Throws FileError.
[[nodiscard]] const std::uint8_t* map_file(const File& file);

/// Maps bytes of the file from a multiple of the page size on, copy-on-write: the file never
/// changes. Throws FileError.
[[nodiscard]] std::uint8_t* map_private(const File& file, std::uint64_t offset,
                                        std::uint64_t nbytes);

/// Maps fresh memory that begins at a multiple of kHugePage, so it can consist of huge pages.
/// `nbytes` is a whole number of pages. Throws std::bad_alloc.
inline constexpr std::uint64_t kHugePage = 2 << 20;
[[nodiscard]] std::uint8_t* map_fresh(std::uint64_t nbytes);

void unmap(const void* begin, std::uint64_t nbytes) noexcept;

// Different on each system:

/// Advises the system to use huge pages. Without them, the first touch is slower.
void advise_huge_pages(void* begin, std::uint64_t nbytes) noexcept;

/// The flag of mmap for memory that is not reserved before it is written to. 0 if the system has
/// none.
extern const int kMapUnreserved;

}  // namespace onnxmap::os
