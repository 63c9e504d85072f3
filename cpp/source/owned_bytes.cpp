#include "source/owned_bytes.hpp"

#include <new>
#include <utility>

#include "os/mapping.hpp"
#include "os/page_ranges.hpp"

namespace onnxmap::source {

void OwnedBytes::Release::operator()(std::uint8_t* memory) const noexcept {
    if (mapped_nbytes > 0) {
        os::unmap(memory, mapped_nbytes);
    } else {
        ::operator delete[](memory);
    }
}

OwnedBytes::Memory OwnedBytes::map_huge(std::uint64_t nbytes) {
    if (nbytes > INT64_MAX) throw std::bad_alloc();
    const std::uint64_t page = os::page_size();
    const std::uint64_t used = (nbytes + page - 1) / page * page;
    return Memory(os::map_fresh(used), Release{used});
}

// Does not use an aligned `new`: glibc's searches for more memory than it then uses, so memory that
// an array gave back is too small for another array of the same size.
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

std::shared_ptr<OwnedBytes> OwnedBytes::map_private(const os::File& file, std::uint64_t offset,
                                                    std::uint64_t nbytes) {
    const std::uint64_t before = offset % os::page_size();
    const std::uint64_t mapped = before + nbytes;
    Memory memory(os::map_private(file, offset - before, mapped), Release{mapped});
    std::uint8_t* begin = memory.get() + before;
    return std::shared_ptr<OwnedBytes>(new OwnedBytes(std::move(memory), begin, nbytes));
}

}  // namespace onnxmap::source
