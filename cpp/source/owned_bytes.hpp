// Bytes with an owner of their own: newly made or read, or copy-on-write pages of a file. Arrays
// get their memory here.
#pragma once

#include <memory>
#include <span>

#include "os/file.hpp"
#include "source/source.hpp"

namespace onnxmap::source {

class OwnedBytes final : public Source {
  public:
    /// Memory of at least this many bytes has whole pages. In huge pages of their own, a thousand
    /// arrays of 5 kB would take 2 GB.
    static constexpr std::uint64_t kLeastForHugePages = 4 << 20;

    static constexpr std::uint64_t kAlignment = 64;  // a cache line

    /// Uninitialised memory, aligned to kAlignment. From 4 MiB on it has whole pages, aligned to 2
    /// MiB and advised to be huge: with small pages, the first touch of fresh memory costs more
    /// than writing it. Throws std::bad_alloc.
    explicit OwnedBytes(std::uint64_t nbytes);

    /// Copy-on-write pages of a file; the file never changes. Throws FileError.
    [[nodiscard]] static std::shared_ptr<OwnedBytes> map_private(const os::File& file,
                                                                 std::uint64_t offset,
                                                                 std::uint64_t nbytes);

    [[nodiscard]] const char* kind() const noexcept override { return "buffer"; }

    /// The bytes, to be filled before the source is shared.
    [[nodiscard]] std::span<std::uint8_t> writable() noexcept { return {begin_, size_}; }

  private:
    struct Release {
        std::uint64_t mapped_nbytes = 0;  // 0: from the heap
        void operator()(std::uint8_t* memory) const noexcept;
    };
    using Memory = std::unique_ptr<std::uint8_t[], Release>;

    OwnedBytes(Memory memory, std::uint8_t* begin, std::uint64_t nbytes);
    [[nodiscard]] static Memory map_huge(std::uint64_t nbytes);
    [[nodiscard]] static Memory take_from_heap(std::uint64_t nbytes);

    Memory memory_;
    std::uint8_t* begin_;
};

}  // namespace onnxmap::source
