// The addresses of a mapping whose pages may be lost during a read. A guard protects them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace onnxmap::os {

/// The lost pages of a mapping, as the guards of its source share them.
struct LostPages {
    /// Zeros that are mapped over pages.
    struct Cover {
        std::uint8_t* begin = nullptr;
        std::uint8_t* end = nullptr;
        void* kept = nullptr;  // the first of the pages, mapped once more
    };

    /// How often a read hit lost pages.
    std::atomic<std::uint64_t> times{0};
    /// The current number of covers.
    std::atomic<std::uint32_t> covered{0};
    /// Whether the mapping may be written to, as a caller's own memory may.
    bool writable = false;

    // For the signal handler, which locks it.
    std::array<Cover, 8> covers;
    std::uint32_t guards = 0;           // live guards that hit lost pages
    LostPages* next_covered = nullptr;  // in the list of all mappings that have covers
};

struct GuardedRegion {
    const std::uint8_t* data = nullptr;
    std::uint64_t size = 0;
    LostPages* lost = nullptr;  // of this mapping; lives as long as the mapping

    [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
        const auto begin = reinterpret_cast<std::uintptr_t>(data);
        return address >= begin && address - begin < size;
    }
};

}  // namespace onnxmap::os
