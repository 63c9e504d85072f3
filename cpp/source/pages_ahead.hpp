// Read-ahead for a walk that makes many small jumps. The system reads ahead of those who go
// straight on, and reads no more than it must for those who jump far; between the two, over
// payloads of some ten kilobytes, each step would wait for the disk where reading everything is
// faster. There, as long as the pages are not in memory, they are asked for before the walk gets to
// them.
//
// Nothing of the descriptor's state is changed: others read through it, and the mapping has it.
#pragma once

#include <cstdint>

#include "os/file.hpp"

namespace onnxmap::source {

class PagesAhead {
  public:
    // Bytes that a disk reads in the time that one access takes, about: 80 us at 1.5 GB/s.
    static constexpr std::uint64_t kFar = 128 << 10;
    // A look at every jump would make a load from memory slower.
    static constexpr std::uint64_t kLookEvery = 1 << 20;
    // What is asked for ahead: little at first, since the next jump may be far.
    static constexpr std::uint64_t kLeast = 128 << 10;
    static constexpr std::uint64_t kMost = 4 << 20;

    /// The walk comes to `offset`, over `skipped` bytes that it did not read.
    void walk_to(const os::File& file, std::uint64_t offset, std::uint64_t skipped);

  private:
    std::uint64_t size_ = 0;     // how far ahead pages are asked for; 0: not at all
    std::uint64_t end_ = 0;      // up to where they were
    std::uint64_t look_at_ = 0;  // where to look next whether they are in memory
};

}  // namespace onnxmap::source
