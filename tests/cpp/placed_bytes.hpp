// Bytes placed so that a read past their end is noticed: at the very end of a heap block (by
// AddressSanitizer), or before a page without access (by the processor, in every build).
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "base/bytes.hpp"

namespace onnxmap::test {

/// A copy on the heap, in a block of exactly its size.
class HeapCopy {
  public:
    explicit HeapCopy(ByteView bytes)
        : size_(bytes.size()), block_(std::make_unique<std::uint8_t[]>(bytes.size())) {
        std::copy(bytes.begin(), bytes.end(), block_.get());
    }

    [[nodiscard]] ByteView view() const noexcept { return {block_.get(), size_}; }
    [[nodiscard]] std::uint8_t* data() noexcept { return block_.get(); }

  private:
    std::size_t size_;
    std::unique_ptr<std::uint8_t[]> block_;
};

/// Pages between two pages without access.
class GuardedPages {
  public:
    explicit GuardedPages(std::size_t most) {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        room_ = (most + page - 1) / page * page;
        mapped_ = page + room_ + page;
        void* address =
            ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (address == MAP_FAILED) throw std::bad_alloc();
        auto* const mapping = static_cast<std::uint8_t*>(address);
        start_ = mapping + page;
        const bool guarded = ::mprotect(mapping, page, PROT_NONE) == 0 &&
                             ::mprotect(start_ + room_, page, PROT_NONE) == 0;
        if (!guarded) throw std::bad_alloc();
    }
    GuardedPages(const GuardedPages&) = delete;
    GuardedPages& operator=(const GuardedPages&) = delete;
    ~GuardedPages() { ::munmap(start_ - (mapped_ - room_) / 2, mapped_); }

    /// Copies the bytes to the end of the room; valid until the next call.
    [[nodiscard]] ByteView place(ByteView bytes) noexcept {
        std::uint8_t* at = last(bytes.size());
        std::copy(bytes.begin(), bytes.end(), at);
        return {at, bytes.size()};
    }

    /// Copies the bytes to the start of the room; valid until the next call.
    [[nodiscard]] ByteView place_first(ByteView bytes) noexcept {
        std::copy(bytes.begin(), bytes.end(), start_);
        return {start_, bytes.size()};
    }

    /// The first bytes and the last bytes of the room, to write to.
    [[nodiscard]] std::uint8_t* first() noexcept { return start_; }
    [[nodiscard]] std::uint8_t* last(std::size_t nbytes) noexcept {
        return start_ + room_ - nbytes;
    }

  private:
    std::size_t room_;
    std::size_t mapped_;
    std::uint8_t* start_;
};

}  // namespace onnxmap::test
