// The operations of the signal handler on addresses of a mapping whose file has lost their pages.
// All of them are async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onnxmap::os {

/// Called before a signal handler may call the functions below. Does its work once in a process.
void prepare_for_lost_pages() noexcept;

/// Whether the page cannot be read. True if the system does not report it: most files with lost
/// pages were truncated.
[[nodiscard]] bool is_lost(std::uint8_t* page, std::size_t page_size) noexcept;

/// Remembers the mapping of the page for put_back(). False if that fails.
[[nodiscard]] bool keep_page(std::uint8_t* page, std::size_t page_size, void*& kept) noexcept;
void forget_page(void* kept, std::size_t page_size) noexcept;

/// Maps the file again over the zeros; `kept` is what keep_page() stored for the first page. If the
/// system cannot do that, touching the addresses faults again, even if the file gets its pages
/// back. False if not even that is possible.
[[nodiscard]] bool put_back(void* kept, std::uint8_t* begin, std::size_t nbytes) noexcept;

}  // namespace onnxmap::os
