// What a signal handler does to addresses of a mapping whose file has lost their pages. All of it
// is async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onnxmap::os {

/// Called before a signal handler may call the functions below. Does its work once in a process.
void prepare_for_lost_pages() noexcept;

/// Whether the page cannot be read. Yes if the system does not tell: most files with lost pages
/// were truncated.
[[nodiscard]] bool is_lost(std::uint8_t* page, std::size_t page_size) noexcept;

/// Remembers what is mapped at the page, for put_back(). False if that cannot be done.
[[nodiscard]] bool keep_page(std::uint8_t* page, std::size_t page_size, void*& kept) noexcept;
void forget_page(void* kept, std::size_t page_size) noexcept;

/// Puts the file back in the place of zeros; `kept` is that of the first page. If the system cannot
/// map the file again, touching the addresses is a fault again, also if the file gets its pages
/// back. False if not even that can be done.
[[nodiscard]] bool put_back(void* kept, std::uint8_t* begin, std::size_t nbytes) noexcept;

}  // namespace onnxmap::os
