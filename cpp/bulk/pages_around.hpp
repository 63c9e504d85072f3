// The pages of mapped files around the reader of a stream: brought in ahead of it, given back
// behind it.
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

    /// Where a walk over the bytes of the views is.
    struct Place {
        std::size_t item;
        std::uint64_t offset;  // in it
    };
    /// Bytes of one file, of one view or of several that are neighbours.
    struct Chunk {
        std::size_t first;
        std::size_t last;
        std::uint64_t begin;
        std::uint64_t end;

        [[nodiscard]] std::uint64_t nbytes() const noexcept { return end - begin; }
    };

    /// The chunk at `at`, which is at a view; moves on.
    [[nodiscard]] Chunk next(Place& at) const;

    /// Looks what is in memory around the first view, which the reader may touch before it is
    /// brought. Before the thread that brings is there.
    void look_first();

    /// Has the pages of a chunk mapped where they are in memory, or where the system reads far
    /// ahead, and waits for them; asks for them otherwise, and waits for none. Neither where the
    /// reader has passed it. For one thread.
    void bring(const Chunk& chunk);

    /// The reader has come to this view: what it has passed is given back. For another thread.
    void reader_at(const Item& item);

    /// The reader has come to what is no view: it has left the one before.
    void reader_left();

    /// When nothing is brought any more: all else is given back, what the reader is at only where
    /// it is `done` with it.
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

    // Of who brings:
    std::size_t brought_end_ = 0;  // items before it were brought
    ReadAhead read_ahead_;
    std::uint64_t around_ = 0;      // what the system reads before a page that is missing
    std::uint64_t looked_end_ = 0;  // of the source that it is at: absent pages before it are noted

    std::mutex reader_mutex_;  // a stream may be ended while its reader is in here
    const Item* reader_ = nullptr;
    std::uint64_t released_ = 0;  // the end of what was given back, of the reader's file

    std::mutex absent_mutex_;   // of both below
    Position at_ = kNowhere;    // where pages are being brought, or the end of what was
    std::deque<Range> absent_;  // pages that were not in the page cache, in order
};

}  // namespace onnxmap::bulk
