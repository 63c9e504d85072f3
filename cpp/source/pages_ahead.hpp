// Read-ahead for a walk that makes many small jumps. The system reads ahead for sequential reads,
// and reads only the needed pages after far jumps. In between, over payloads of some ten kilobytes,
// each step would wait for the disk, and reading everything is faster. For such a walk, absent
// pages are asked for before the walk reaches them.
//
// The state of the descriptor stays unchanged, because other threads and the mapping use it.
#pragma once

#include <cstdint>

#include "os/file.hpp"

namespace onnxmap::source {

class PagesAhead {
  public:
    // About as many bytes as a disk reads in the time of one access: 80 us at 1.5 GB/s.
    static constexpr std::uint64_t kFar = 128 << 10;
    // Checking residency at every jump would make a load from memory slower.
    static constexpr std::uint64_t kLookEvery = 1 << 20;
    // Bytes that are asked for ahead: few at first, since the next jump may be far.
    static constexpr std::uint64_t kLeast = 128 << 10;
    static constexpr std::uint64_t kMost = 4 << 20;

    /// The walk reaches `offset` after it skipped `skipped` bytes.
    void walk_to(const os::File& file, std::uint64_t offset, std::uint64_t skipped);

  private:
    std::uint64_t size_ = 0;     // how far ahead pages are asked for; 0: none are
    std::uint64_t end_ = 0;      // pages before this offset were asked for
    std::uint64_t look_at_ = 0;  // the offset of the next check for residency
};

}  // namespace onnxmap::source
