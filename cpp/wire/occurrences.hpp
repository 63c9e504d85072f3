// Where the fields of one message occur, kept small: not one record per occurrence but a
// checkpoint every so often, from which the next few are found again by walking the bytes. For
// 200 000 nodes that is 300 kB instead of 3 MB, and fresh memory costs more than the walk.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/message_table.hpp"

namespace onnxmap::wire {

class Occurrences {
  public:
    struct Checkpoint {
        std::uint64_t offset;   // in the source, of a tag
        std::uint64_t ordinal;  // which occurrence of its field that is
    };

    struct Entry {
        std::uint64_t count = 0;
        std::uint64_t last = 0;  // offset of the last occurrence's tag
        std::vector<Checkpoint> checkpoints;
    };

    explicit Occurrences(const MessageTable& table) : entries_(table.fields.size()) {}

    /// Notes an occurrence, in file order, of the field at `position` in the message's table.
    void note(std::size_t position, std::uint64_t tag_offset) {
        Entry& entry = entries_[position];
        if (entry.checkpoints.empty() || needs_checkpoint(entry, tag_offset)) {
            entry.checkpoints.push_back({tag_offset, entry.count});
        }
        entry.last = tag_offset;
        ++entry.count;
    }

    /// Notes that the message goes on in other bytes (it occurs again, and merges): no walk from
    /// a checkpoint may cross that gap.
    void begin_part(std::uint64_t offset) noexcept { part_begin_ = offset; }

    [[nodiscard]] const Entry& at(std::size_t position) const noexcept {
        return entries_[position];
    }

  private:
    // At most 16 occurrences or 1 KiB are walked to reach one.
    static constexpr std::uint64_t kStride = 16;
    static constexpr std::uint64_t kSpread = 1024;

    [[nodiscard]] bool needs_checkpoint(const Entry& entry, std::uint64_t offset) const noexcept {
        const Checkpoint& newest = entry.checkpoints.back();
        return offset - newest.offset >= kSpread || entry.count - newest.ordinal >= kStride ||
               newest.offset < part_begin_;
    }

    std::uint64_t part_begin_ = 0;
    std::vector<Entry> entries_;
};

}  // namespace onnxmap::wire
