// Where the fields of one message occur. To stay small, it records not every occurrence but
// checkpoints; a short walk from a checkpoint finds the next occurrences. For 200 000 nodes that is
// 300 kB instead of 3 MB, and fresh memory costs more than the walk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "wire/message_table.hpp"

namespace onnxmap::wire {

class Occurrences {
  public:
    struct Checkpoint {
        std::uint64_t offset;   // in the source, of a tag
        std::uint64_t ordinal;  // the index of the occurrence among those of its field
    };

    struct Entry {
        std::uint64_t count = 0;
        std::uint64_t last = 0;  // offset of the last occurrence's tag
        std::vector<Checkpoint> checkpoints;

        /// Notes an occurrence, in file order.
        void note(std::uint64_t tag_offset) {
            if (checkpoints.empty() || needs_checkpoint(tag_offset)) {
                checkpoints.push_back({tag_offset, count});
            }
            last = tag_offset;
            ++count;
        }

        /// The checkpoint from which a short walk reaches occurrence `i`; i < count.
        [[nodiscard]] const Checkpoint& before(std::uint64_t i) const {
            const auto behind = std::upper_bound(
                checkpoints.begin(), checkpoints.end(), i,
                [](std::uint64_t ordinal, const auto& c) { return ordinal < c.ordinal; });
            return *(behind - 1);
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

    explicit Occurrences(const MessageTable& table) : entries_(table.fields.size()) {}

    /// Notes an occurrence, in file order, of the field at `position` in the message's table.
    void note(std::size_t position, std::uint64_t tag_offset) {
        entries_[position].note(tag_offset);
    }

    [[nodiscard]] const Entry& at(std::size_t position) const noexcept {
        return entries_[position];
    }

  private:
    std::vector<Entry> entries_;
};

}  // namespace onnxmap::wire
