// Memory from the operating system: pages of files, and fresh ones. Whoever maps pages unmaps them.
#pragma once

#include <cstdint>

#include "os/file.hpp"

namespace onnxmap::os {

/// The whole file, to be read. Null for an empty file. Throws FileError.
[[nodiscard]] const std::uint8_t* map_file(const File& file);

/// Bytes of the file from a multiple of the page size on. Pages are copied when they are written
/// to, and the file never changes. Throws FileError.
[[nodiscard]] std::uint8_t* map_private(const File& file, std::uint64_t offset,
                                        std::uint64_t nbytes);

/// Fresh memory that begins at a multiple of kHugePage, so that it can consist of huge pages.
/// `nbytes` are whole pages. Throws std::bad_alloc.
inline constexpr std::uint64_t kHugePage = 2 << 20;
[[nodiscard]] std::uint8_t* map_fresh(std::uint64_t nbytes);

void unmap(const void* begin, std::uint64_t nbytes) noexcept;

// What systems differ in:

/// Has the system use huge pages where it can. It is only advice: without huge pages, the first
/// touch is slower.
void advise_huge_pages(void* begin, std::uint64_t nbytes) noexcept;

/// A flag of mmap: memory is not set aside before it is written to. 0 if the system has none.
extern const int kMapUnreserved;

}  // namespace onnxmap::os
