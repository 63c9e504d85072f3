#include "os/mapping.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <new>

#include "base/error.hpp"

namespace onnxmap::os {

namespace {

std::uint8_t* map(const File& file, std::uint64_t offset, std::uint64_t nbytes, int protection,
                  int flags) {
    void* const address =
        ::mmap(nullptr, nbytes, protection, flags, file.descriptor(), static_cast<off_t>(offset));
    if (address == MAP_FAILED) throw FileError(errno, file.path());
    return static_cast<std::uint8_t*>(address);
}

}  // namespace

const std::uint8_t* map_file(const File& file) {
    if (file.size() == 0) return nullptr;  // mmap of nothing is EINVAL
    return map(file, 0, file.size(), PROT_READ, MAP_SHARED);
}

std::uint8_t* map_private(const File& file, std::uint64_t offset, std::uint64_t nbytes) {
    return map(file, offset, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | kMapUnreserved);
}

std::uint8_t* map_fresh(std::uint64_t nbytes) {
    if (nbytes > INT64_MAX) throw std::bad_alloc();
    void* const reserved = ::mmap(nullptr, nbytes + kHugePage, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED) throw std::bad_alloc();
    // Only memory that begins at a multiple of kHugePage can be a huge page; the rest is unmapped.
    const std::uint64_t before = -reinterpret_cast<std::uintptr_t>(reserved) % kHugePage;
    auto* const begin = static_cast<std::uint8_t*>(reserved) + before;
    if (before > 0) unmap(reserved, before);
    unmap(begin + nbytes, kHugePage - before);  // whole pages: mmap begins at one
    advise_huge_pages(begin, nbytes);
    return begin;
}

void unmap(const void* begin, std::uint64_t nbytes) noexcept {
    ::munmap(const_cast<void*>(begin), nbytes);
}

}  // namespace onnxmap::os
