#include "os/address_range.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <new>

#include "base/made_once.hpp"
#include "os/fork_safe_mutex.hpp"
#include "os/page_ranges.hpp"

namespace onnxmap::os {

namespace {

constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

// A region where Linux maps nothing by itself: it maps from the top down, and programs lie at the
// top or at the bottom. (This is for the 47 bits of x86-64 and most of arm64; systems with fewer
// run out of memory.)
constexpr std::uintptr_t kFirst = 0x2000'0000'0000;
constexpr std::uintptr_t kLast = 0x5000'0000'0000;
constexpr std::uint64_t kGap = 1 << 30;

// The parts of that region that are in use, by their first address.
struct Region {
    ForkSafeMutex mutex;
    std::map<std::uintptr_t, std::uintptr_t> used;
};

Region& region() { return made_once<Region>(); }

std::uintptr_t take_addresses(std::uint64_t nbytes) {
    if (nbytes > kLast - kFirst) throw std::bad_alloc();
    const std::uintptr_t size = (nbytes / kGap + 1) * kGap;
    const std::lock_guard lock(region().mutex);
    std::uintptr_t begin = kFirst;
    for (const auto& [used, end] : region().used) {
        if (used - begin >= size) break;
        begin = end;
    }
    if (kLast - begin < size) throw std::bad_alloc();
    region().used.emplace(begin, begin + size);
    return begin;
}

void give_back(std::uintptr_t begin) {
    const std::lock_guard lock(region().mutex);
    region().used.erase(begin);
}

}  // namespace

AddressRange::AddressRange(std::uint64_t nbytes) : nbytes_(nbytes) {
    void* const address = ::mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, kReserved, -1, 0);
    reserved_ = address != MAP_FAILED;
    begin_ = reserved_ ? static_cast<std::uint8_t*>(address)
                       : reinterpret_cast<std::uint8_t*>(take_addresses(nbytes));
}

AddressRange::~AddressRange() {
    if (reserved_) {
        ::munmap(begin_, nbytes_);
        return;
    }
    for (const auto& range : usable_) ::munmap(begin_ + range.begin, range.end - range.begin);
    give_back(reinterpret_cast<std::uintptr_t>(begin_));
}

void AddressRange::use(std::uint64_t begin, std::uint64_t end) {
    if (reserved_ || begin == end) return;
    const std::uint64_t page = page_size();
    begin -= begin % page;
    end += (page - end % page) % page;
    ByteRanges missing;
    usable_.for_each_missing(
        begin, end, [&](std::uint64_t first, std::uint64_t last) { missing.add(first, last); });
    for (const auto& [first, last] : missing) {
        void* const hint = begin_ + first;
        void* const address = ::mmap(hint, last - first, PROT_READ | PROT_WRITE,
                                     kReserved | MAP_FIXED_NOREPLACE, -1, 0);
        if (address != hint) {
            if (address != MAP_FAILED) ::munmap(address, last - first);  // a kernel before 4.17
            throw std::bad_alloc();
        }
        usable_.add(first, last);
    }
}

}  // namespace onnxmap::os
