#include "io/owned_bytes.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <utility>

#include "base/error.hpp"

namespace onnxmap::io {

namespace {

constexpr std::uint64_t kHugePage = 2 << 20;

}  // namespace

void OwnedBytes::Release::operator()(std::uint8_t* memory) const noexcept {
    if (mapped_nbytes > 0) {
        ::munmap(memory, mapped_nbytes);
    } else {
        ::operator delete[](memory);
    }
}

OwnedBytes::Memory OwnedBytes::map_huge(std::uint64_t nbytes) {
    if (nbytes > INT64_MAX) throw std::bad_alloc();
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t used = (nbytes + page - 1) / page * page;
    const std::uint64_t reserved_nbytes = used + kHugePage;
    void* reserved = ::mmap(nullptr, reserved_nbytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED) throw std::bad_alloc();
    // Only what begins at a multiple of 2 MiB can be a huge page; the rest goes back.
    const auto address = reinterpret_cast<std::uintptr_t>(reserved);
    const std::uint64_t before = -address % kHugePage;
    auto* begin = static_cast<std::uint8_t*>(reserved) + before;
    if (before > 0) ::munmap(reserved, before);
    const std::uint64_t after = kHugePage - before;  // whole pages: mmap begins at one
    ::munmap(begin + used, after);
    ::madvise(begin, used, MADV_HUGEPAGE);  // only advice: without huge pages it is slower
    return Memory(begin, Release{used});
}

// Not by an aligned `new`: that of glibc looks for more than it then takes, so that memory which an
// array gave back is too small for another of the same size.
OwnedBytes::Memory OwnedBytes::take_from_heap(std::uint64_t nbytes) {
    return Memory(static_cast<std::uint8_t*>(::operator new[](nbytes + kAlignment)), Release{0});
}

OwnedBytes::OwnedBytes(std::uint64_t nbytes)
    : memory_(nbytes >= kLeastForHugePages ? map_huge(nbytes) : take_from_heap(nbytes)),
      begin_(memory_.get() + -reinterpret_cast<std::uintptr_t>(memory_.get()) % kAlignment) {
    data_ = begin_;
    size_ = nbytes;
}

OwnedBytes::OwnedBytes(Memory memory, std::uint8_t* begin, std::uint64_t nbytes)
    : memory_(std::move(memory)), begin_(begin) {
    data_ = begin_;
    size_ = nbytes;
}

std::shared_ptr<OwnedBytes> OwnedBytes::map_private(const File& file, std::uint64_t offset,
                                                    std::uint64_t nbytes) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t before = offset % page;
    const std::uint64_t mapped = before + nbytes;
    void* address = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                           file.descriptor(), static_cast<off_t>(offset - before));
    if (address == MAP_FAILED) throw FileError(errno, file.path());
    Memory memory(static_cast<std::uint8_t*>(address), Release{mapped});
    std::uint8_t* begin = memory.get() + before;
    return std::shared_ptr<OwnedBytes>(new OwnedBytes(std::move(memory), begin, nbytes));
}

}  // namespace onnxmap::io
