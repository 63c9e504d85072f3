// The pages of mapped files around the reader of a stream. They are prefetched ahead of the reader
// and released behind it.
//
// A stream evicts nobody's files: after 537 MB that were not in memory, 0 MB of them are left in
// the page cache (Model.residency(), 4 runs), and files that were in memory stay there. To that end
// it notes which pages are absent before anyone touches them, and drops only these.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>

#include "bulk/plan.hpp"
#include "source/page_cache.hpp"

namespace onnxmap::bulk {

class StreamPages {
  public:
    /// Returns how many bytes the system reads ahead in a file.
    using AskReadAhead = std::uint64_t (*)(const source::Source&);

    StreamPages(const Plan& plan, std::uint64_t window,
                AskReadAhead ask_read_ahead = &source::read_ahead_nbytes);

    /// A position of a walk over the bytes of the views.
    struct Cursor {
        std::size_t item;
        std::uint64_t offset;  // offset within the view
    };
    /// Bytes of one file: of one view, or of several neighbouring views.
    struct Chunk {
        std::size_t first;
        std::size_t last;
        std::uint64_t begin;
        std::uint64_t end;

        [[nodiscard]] std::uint64_t nbytes() const noexcept { return end - begin; }
    };

    /// The chunk at `at`, which must be at a view. Moves `at` past the chunk.
    [[nodiscard]] Chunk next(Cursor& at) const;

    /// Prefetches the pages of a chunk. If they are in memory, or if the system reads far ahead,
    /// maps them and waits for them. Otherwise asks for them without waiting. Does nothing if the
    /// reader has passed the chunk. For one thread.
    void prefetch(const Chunk& chunk);

    /// Called when the reader has reached this view: releases the pages that it has passed. For one
    /// other thread.
    void reader_at(const Item& item);

    /// Called when the reader has reached an item that is not a view, and has left the view before
    /// it.
    void reader_left();

    /// Call it when nothing is prefetched any longer. Releases all other pages, and the reader's
    /// current pages only if it is `done` with them.
    void release_all(bool done) noexcept;

  private:
    // Pages that were not in the page cache.
    struct Range {
        std::uint32_t source;
        std::uint64_t begin;
        std::uint64_t end;
        std::uint64_t dropped_end = 0;
    };

    [[nodiscard]] bool is_read_far_ahead(const Chunk& chunk);
    [[nodiscard]] static bool request(const source::Source& source, const Chunk& chunk);
    void note_absent(std::uint32_t number, std::uint64_t begin, std::uint64_t end);
    [[nodiscard]] bool is_passed(const Item& item, const Chunk& chunk);

    void leave_file() noexcept;
    void release_and_drop_until(std::uint64_t end) noexcept;
    void release_until(std::uint64_t end) noexcept;
    void drop(std::uint32_t number, std::uint64_t end) noexcept;
    void evict(std::uint32_t number, std::uint64_t begin, std::uint64_t end) noexcept;

    const Plan& plan_;
    std::span<const Item> items_;
    const std::uint64_t chunk_nbytes_;
    const std::uint64_t step_;
    const std::uint64_t most_read_ahead_;
    const AskReadAhead ask_read_ahead_;

    // Of the thread that prefetches:
    std::size_t prefetched_end_ = 0;  // items before this one were prefetched
    std::uint64_t read_ahead_ = 0;    // of the file of the last of them; 0: the file is small
    Chunk run_{};                     // of neighbours in that file

    std::mutex reader_mutex_;  // a stream may end while its reader is in a call
    const Item* reader_ = nullptr;
    std::uint64_t released_ = 0;  // the end of the released pages, in the reader's file

    std::mutex absent_mutex_;                // of the members below
    std::deque<Range> absent_;               // in order
    std::size_t dropped_ = 0;                // ranges before this one were dropped
    std::uint32_t checked_at_ = UINT32_MAX;  // the source whose pages are noted up to noted_end_
    std::uint64_t noted_end_ = 0;
    std::uint64_t reach_ = 0;  // of the system's read-ahead there
};

}  // namespace onnxmap::bulk
