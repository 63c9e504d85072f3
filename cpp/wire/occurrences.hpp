// Where the fields of one message occur. To stay small, it records not every occurrence but
// checkpoints; a short walk from a checkpoint finds the next occurrences. For 200 000 nodes that is
// 300 kB instead of 3 MB, and fresh memory costs more than the walk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace onnxmap::wire {

/// Where one field occurs.
struct FieldOccurrences {
    struct Checkpoint {
        std::uint64_t offset;   // in the source, of a tag
        std::uint64_t ordinal;  // the index of the occurrence among those of its field
    };

    std::uint64_t count = 0;
    std::vector<Checkpoint> checkpoints;

    /// Notes an occurrence, in file order.
    void note(std::uint64_t tag_offset) {
        if (checkpoints.empty() || needs_checkpoint(tag_offset)) {
            checkpoints.push_back({tag_offset, count});
        }
        ++count;
    }

    /// The checkpoint from which a short walk reaches occurrence `i`; i < count.
    [[nodiscard]] const Checkpoint& before(std::uint64_t i) const {
        return *std::prev(std::ranges::upper_bound(checkpoints, i, {}, &Checkpoint::ordinal));
    }

  private:
    // A walk passes over at most 16 occurrences or 1 KiB.
    static constexpr std::uint64_t kStride = 16;
    static constexpr std::uint64_t kSpread = 1024;

    [[nodiscard]] bool needs_checkpoint(std::uint64_t offset) const noexcept {
        const Checkpoint& newest = checkpoints.back();
        return offset - newest.offset >= kSpread || count - newest.ordinal >= kStride;
    }
};

/// Of all fields of a message, by their position in its table.
using Occurrences = std::vector<FieldOccurrences>;

}  // namespace onnxmap::wire
