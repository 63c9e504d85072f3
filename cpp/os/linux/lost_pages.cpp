#include "os/lost_pages.hpp"

#include <sys/mman.h>

#ifndef MADV_POPULATE_READ  // Linux 5.14
#define MADV_POPULATE_READ 22
#endif

namespace onnxmap::os {

void prepare_for_lost_pages() noexcept {}

bool is_lost(std::uint8_t* page, std::size_t page_size) noexcept {
    return ::madvise(page, page_size, MADV_POPULATE_READ) != 0;
}

// Mapped once more elsewhere, so that the file can be put back without opening it.
bool keep_page(std::uint8_t* page, std::size_t page_size, void*& kept) noexcept {
    kept = ::mremap(page, 0, page_size, MREMAP_MAYMOVE);
    return kept != MAP_FAILED;
}

void forget_page(void* kept, std::size_t page_size) noexcept { ::munmap(kept, page_size); }

bool put_back(void* kept, std::uint8_t* begin, std::size_t nbytes) noexcept {
    return ::mremap(kept, 0, nbytes, MREMAP_MAYMOVE | MREMAP_FIXED, begin) != MAP_FAILED;
}

}  // namespace onnxmap::os
