// Pages of a mapping that its file has lost: what the guards of a source know of them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace onnxmap::os {

struct LostPages {
    /// Zeros in the place of pages.
    struct Cover {
        std::uint8_t* begin = nullptr;
        std::uint8_t* end = nullptr;
        void* kept = nullptr;  // the first of the pages, mapped once more
    };

    /// How often a read found pages missing.
    std::atomic<std::uint64_t> times{0};
    /// How many covers there are right now.
    std::atomic<std::uint32_t> covered{0};
    /// Whether somebody may write to the mapping: a caller's own.
    bool writable = false;

    // For the signal handler, which has a lock.
    std::array<Cover, 8> covers;
    std::uint32_t guards = 0;           // that have run into them and are still there
    LostPages* next_covered = nullptr;  // of all that have covers
};

}  // namespace onnxmap::os
