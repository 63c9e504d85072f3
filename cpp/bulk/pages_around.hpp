// The pages of mapped files around the reader of a stream. They are brought ahead of the reader and
// given back behind it.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>

#include "bulk/plan.hpp"
#include "bulk/read_ahead.hpp"
#include "source/page_cache.hpp"

namespace onnxmap::bulk {

class PagesAround {
  public:
    PagesAround(const Plan& plan, std::uint64_t window,
                ReadAhead::Ask ask_read_ahead = &source::read_ahead_nbytes);

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

    /// Notes which pages around the first view are in memory, since the reader may touch them
    /// before the bringing thread does. Call it before that thread starts.
    void look_first();

    /// Brings the pages of a chunk. If they are in memory, or if the system reads far ahead, maps
    /// them and waits for them. Otherwise asks for them without waiting. Does nothing if the reader
    /// has passed the chunk. For one thread.
    void bring(const Chunk& chunk);

    /// Called when the reader has reached this view: gives back the pages that it has passed. For
    /// one other thread.
    void reader_at(const Item& item);

    /// Called when the reader has reached an item that is not a view, and has left the view before
    /// it.
    void reader_left();

    /// Call it when nothing is brought any longer. Gives back all other pages, and the reader's
    /// current pages only if it is `done` with them.
    void give_back_all(bool done) noexcept;

  private:
    struct Range {
        std::uint32_t source;
        std::uint64_t begin;
        std::uint64_t end;
    };

    struct Position {
        std::uint32_t source;
        std::uint64_t offset;
        std::uint64_t around;  // bytes before it that the system may bring with it
    };
    static constexpr Position kNowhere{UINT32_MAX, 0, 0};

    [[nodiscard]] bool look_around(const source::Source& source, const Chunk& chunk);
    [[nodiscard]] static bool ask_for(const source::Source& source, const Chunk& chunk);
    void note(std::uint64_t begin, std::uint64_t end);
    void come_to(Position at) noexcept;
    [[nodiscard]] bool is_passed(const Item& item, const Chunk& chunk);

    void leave_file() noexcept;
    void give_back_until(std::uint64_t end) noexcept;
    void release_until(std::uint64_t end) noexcept;
    void drop_until(std::uint64_t end) noexcept;

    const Plan& plan_;
    std::span<const Item> items_;
    const std::uint64_t chunk_nbytes_;
    const std::uint64_t step_;

    // Of the thread that brings:
    std::size_t brought_end_ = 0;  // items before this one were brought
    ReadAhead read_ahead_;
    std::uint64_t around_ = 0;      // bytes that the system reads before a missing page
    std::uint64_t looked_end_ = 0;  // in the current source: absent pages before it are noted

    std::mutex reader_mutex_;  // a stream may end while its reader is in a call
    const Item* reader_ = nullptr;
    std::uint64_t released_ = 0;  // the end of the pages given back, in the reader's file

    std::mutex absent_mutex_;   // of the two members below
    Position at_ = kNowhere;    // where pages are brought, or the end of the last ones
    std::deque<Range> absent_;  // pages that were not in the page cache, in order
};

}  // namespace onnxmap::bulk
