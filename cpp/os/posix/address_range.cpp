// If the system reserves memory for writable pages and has too little for all, they are readable at
// first, as zeros, and the pages in use become writable.
#include "os/address_range.hpp"

#include <sys/mman.h>

#include <new>

#include "os/mapping.hpp"
#include "os/page_ranges.hpp"

namespace onnxmap::os {

namespace {

void* reserve(std::uint64_t nbytes, int protection) noexcept {
    return ::mmap(nullptr, nbytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | kMapUnreserved, -1, 0);
}

}  // namespace

AddressRange::AddressRange(std::uint64_t nbytes) : nbytes_(nbytes) {
    if (nbytes == 0) return;  // mmap of nothing is EINVAL
    void* address = reserve(nbytes, PROT_READ | PROT_WRITE);
    reserved_ = address != MAP_FAILED;
    if (!reserved_) address = reserve(nbytes, PROT_READ);
    if (address == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::uint8_t*>(address);
}

AddressRange::~AddressRange() {
    if (begin_ != nullptr) unmap(begin_, nbytes_);
}

void AddressRange::use(std::uint64_t begin, std::uint64_t end) {
    if (reserved_ || begin == end) return;
    const Pages pages = pages_around(nbytes_, begin, end);
    usable_.for_each_missing(pages.begin, pages.end, [&](std::uint64_t first, std::uint64_t last) {
        if (::mprotect(begin_ + first, last - first, PROT_READ | PROT_WRITE) != 0) {
            throw std::bad_alloc();
        }
    });
    usable_.add(pages.begin, pages.end);
}

}  // namespace onnxmap::os
