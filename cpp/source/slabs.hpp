// Memory for many arrays at once. A large array gets its own pages. Small arrays share slabs, since
// with separate pages the first touch of fresh memory costs more than writing it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "source/owned_bytes.hpp"

namespace onnxmap::source {

/// Bytes for one array, and the owner that must live as long as the array.
struct ArrayMemory {
    std::shared_ptr<OwnedBytes> owner;
    std::span<std::uint8_t> bytes;
};

class Slabs {
  public:
    /// The most memory that one small array keeps alive.
    static constexpr std::uint64_t kMost = 16 << 20;

    /// The bytes of a slab that allocate() uses for an array.
    [[nodiscard]] static std::uint64_t taken(std::uint64_t nbytes) noexcept;

    /// `total`: the sum of taken() of all arrays to come.
    explicit Slabs(std::uint64_t total) noexcept : left_(total) {}

    /// Uninitialised, aligned to 64 bytes. Throws std::bad_alloc.
    [[nodiscard]] ArrayMemory allocate(std::uint64_t nbytes);

  private:
    std::uint64_t left_;
    std::shared_ptr<OwnedBytes> slab_;
    std::uint64_t used_ = 0;
};

}  // namespace onnxmap::source
