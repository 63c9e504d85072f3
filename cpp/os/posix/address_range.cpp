// The addresses are reserved without access, and pages get access when they are used.
#include "os/address_range.hpp"

#include <sys/mman.h>

#include <new>

#include "os/mapping.hpp"
#include "os/pages.hpp"

namespace onnxmap::os {

AddressRange::AddressRange(std::uint64_t nbytes) : nbytes_(nbytes) {
    void* const address =
        ::mmap(nullptr, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | kMapUnreserved, -1, 0);
    if (address == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::uint8_t*>(address);
}

AddressRange::~AddressRange() { unmap(begin_, nbytes_); }

void AddressRange::use(std::uint64_t begin, std::uint64_t end) {
    const Pages pages = pages_around(nbytes_, begin, end);
    usable_.for_each_missing(pages.begin, pages.end, [&](std::uint64_t first, std::uint64_t last) {
        if (::mprotect(begin_ + first, last - first, PROT_READ | PROT_WRITE) != 0) {
            throw std::bad_alloc();
        }
    });
    if (pages.nbytes() > 0) usable_.add(pages.begin, pages.end);
}

}  // namespace onnxmap::os
