#include "bulk/stream_pages.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "source/page_cache.hpp"
#include "source/pages_ahead.hpp"

namespace onnxmap::bulk {

namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;
// A read-ahead of at least this many bytes is far. Touching pages in order then keeps the disk busy
// and reads in large pieces. Pages that are asked for arrive one by one, and cost more to map and
// to drop. On two processors and a virtual disk, a stream of 3.4 GB takes 2.0 to 2.3 s by touching,
// and 2.9 to 3.4 s by asking.
constexpr std::uint64_t kFar = kMebibyte;
// The shortest run of views close together, as a multiple of the read-ahead. Shorter runs do not
// pay, because the system reads past their end.
constexpr std::uint64_t kLongRun = 4;
// The reach of read-ahead, in read-aheads: the system reads one or two ahead of the thread that
// touches pages first, which may be the reader.
constexpr std::uint64_t kReach = 2;
// Keeps the list short if the page cache holds every second page of a file.
constexpr std::size_t kMostDropped = 1 << 16;

// Linux drops a folio, of up to this size, as a whole or not at all.
std::uint64_t whole_folios(std::uint64_t offset) noexcept {
    return offset - offset % os::kMappedAround;
}

}  // namespace

StreamPages::StreamPages(const Plan& plan, std::uint64_t window, AskReadAhead ask_read_ahead)
    : plan_(plan),
      items_(plan.items()),
      chunk_nbytes_(std::clamp<std::uint64_t>(window / 16, 64 << 10, 2 * kMebibyte)),
      step_(std::min(window / 16, 8 * kMebibyte)),
      most_read_ahead_(window / 2),
      ask_read_ahead_(ask_read_ahead) {}

StreamPages::Chunk StreamPages::next(Cursor& at) const {
    const Item& first = items_[at.item];
    Chunk chunk{at.item, at.item, first.offset + at.offset, first.offset + at.offset};
    while (true) {
        const Item& item = items_[at.item];
        chunk.last = at.item;
        const std::uint64_t begin = item.offset + at.offset;
        const std::uint64_t room = chunk_nbytes_ - std::min(chunk_nbytes_, begin - chunk.begin);
        const std::uint64_t here = std::min(item.stored_nbytes - at.offset, room);
        chunk.end = std::max(chunk.end, begin + here);
        at.offset += here;
        if (at.offset < item.stored_nbytes) return chunk;
        at = {at.item + 1, 0};
        if (at.item == items_.size()) return chunk;
        const Item& following = items_[at.item];
        // Only neighbours form a chunk: the bytes between two distant views are not asked for.
        if (following.reading != Reading::view || following.source != first.source ||
            following.offset > chunk.end + os::page_size() || chunk.nbytes() >= chunk_nbytes_) {
            return chunk;
        }
    }
}

void StreamPages::prefetch(const Chunk& chunk) {
    const Item& item = items_[chunk.first];
    const source::Source& source = *plan_.stored().source(item);
    if (!source.maps_file() || chunk.nbytes() == 0) return;
    if (prefetched_end_ == 0 || items_[prefetched_end_ - 1].source != item.source) {
        read_ahead_ = source.size() < kLongRun * kFar ? 0 : ask_read_ahead_(source);
        run_ = {};
    }
    prefetched_end_ = chunk.last + 1;
    note_absent(item.source, chunk.begin, chunk.end);
    if (is_passed(item, chunk)) return;
    const bool is_mapped =
        is_read_far_ahead(chunk) && source::populate(source, chunk.begin, chunk.nbytes());
    // Mapping pages that are still being read would wait for each of them, and would ask for no
    // others meanwhile.
    if (!is_mapped && !request(source, chunk)) {
        source::populate(source, chunk.begin, chunk.nbytes());
    }
    // The reader passed the chunk before its pages arrived, so they are released here.
    if (is_passed(item, chunk)) source::release(source, chunk.begin, chunk.nbytes());
}

// Whether pages are best touched in order from the chunk on: the system reads far ahead, and enough
// views follow close by: reading the gap takes no longer than seeking past it.
bool StreamPages::is_read_far_ahead(const Chunk& chunk) {
    if (read_ahead_ < kFar || read_ahead_ > most_read_ahead_) return false;
    if (chunk.begin < run_.begin || chunk.begin >= run_.end) {
        run_ = chunk;
        for (const Item& item : items_.subspan(chunk.first)) {
            if (item.reading != Reading::view || item.source != items_[chunk.first].source) break;
            if (item.offset > run_.end + source::PagesAhead::kFar) break;
            run_.end = std::max(run_.end, item.stored_end());
        }
    }
    return read_ahead_ <= run_.nbytes() / kLongRun;
}

// Notes which pages are absent from these bytes and within the reach of read-ahead around them.
void StreamPages::note_absent(std::uint32_t number, std::uint64_t begin, std::uint64_t end) {
    const source::Source& source = *plan_.stored().sources()[number];
    if (!source.maps_file()) return;
    const std::lock_guard lock(absent_mutex_);
    if (checked_at_ != number) {
        checked_at_ = number;
        noted_end_ = 0;
        reach_ = std::max(kReach * ask_read_ahead_(source), kMebibyte);
    }
    const std::uint64_t left = source.size() - end;
    if (noted_end_ >= end + std::min(reach_, left)) return;
    begin = std::max(begin - std::min(begin, reach_), noted_end_);
    // Looks twice as far, so that not every chunk has to.
    noted_end_ = end + std::min(2 * reach_, left);
    source::tell_absent(source, begin, noted_end_, [&](std::uint64_t first, std::uint64_t last) {
        // Joined into one range: a folio that spans two ranges would be dropped with neither.
        if (!absent_.empty() && absent_.back().source == number && absent_.back().end == first) {
            absent_.back().end = last;
        } else {
            absent_.push_back({number, first, last, first});
        }
    });
}

// Asks for the pages of the chunk that are absent. Returns whether any is absent.
bool StreamPages::request(const source::Source& source, const Chunk& chunk) {
    bool is_there = true;
    source::prefetch_absent(source, chunk.begin, chunk.end,
                            [&](std::uint64_t, std::uint64_t) { is_there = false; });
    // For files that this user does not own, Linux reports all pages as resident.
    if (is_there && !source::is_cached(source, chunk.end - 1)) {
        is_there = false;
        source::prefetch(source, chunk.begin, chunk.nbytes());
    }
    return !is_there;
}

bool StreamPages::is_passed(const Item& item, const Chunk& chunk) {
    const std::lock_guard lock(reader_mutex_);
    if (reader_ == nullptr || reader_->source < item.source) return false;
    return reader_->source > item.source || reader_->offset >= chunk.end;
}

void StreamPages::reader_at(const Item& item) {
    // The reader may touch pages before they are prefetched.
    note_absent(item.source, item.offset, item.stored_end());
    const std::lock_guard lock(reader_mutex_);
    const bool is_other_file = reader_ == nullptr || reader_->source != item.source;
    if (is_other_file) {
        leave_file();
        released_ = item.offset - std::min(item.offset, os::kMappedAround);
    }
    reader_ = &item;
    if (!is_other_file) release_and_drop_until(item.offset);
}

void StreamPages::reader_left() {
    const std::lock_guard lock(reader_mutex_);
    if (reader_ != nullptr) release_and_drop_until(reader_->stored_end());
}

void StreamPages::release_and_drop_until(std::uint64_t end) noexcept {
    if (end < released_ + step_) return;
    // If the range ended inside a huge page, the system would have to split the mapping.
    release_until(step_ < os::kMappedAround ? end : whole_folios(end));
    drop(reader_->source, whole_folios(end));
}

void StreamPages::leave_file() noexcept {
    if (reader_ == nullptr) return;
    release_until(reader_->stored_end() + os::kMappedAround);
    drop(reader_->source, UINT64_MAX);
}

void StreamPages::release_until(std::uint64_t end) noexcept {
    const source::Source& source = *plan_.stored().source(*reader_);
    end = std::min(end, source.size());
    if (end > released_) source::release(source, released_, end - released_);
    released_ = end - end % os::page_size();
}

// Drops the noted pages before `end` in this file, and all those of the files before it.
void StreamPages::drop(std::uint32_t number, std::uint64_t end) noexcept {
    const std::lock_guard lock(absent_mutex_);
    for (; dropped_ < absent_.size(); ++dropped_) {
        Range& range = absent_[dropped_];
        if (range.source > number) return;
        const std::uint64_t stop = range.source == number ? std::min(range.end, end) : range.end;
        if (stop > range.dropped_end) {
            evict(range.source, range.dropped_end, stop);
            range.dropped_end = stop;
        }
        if (stop < range.end || dropped_ + 1 == absent_.size()) return;  // the last one may grow
        if (dropped_ < kMostDropped) continue;
        absent_.pop_front();
        --dropped_;
    }
}

void StreamPages::evict(std::uint32_t number, std::uint64_t begin, std::uint64_t end) noexcept {
    if (begin < end) source::evict(*plan_.stored().sources()[number], begin, end - begin);
}

void StreamPages::release_all(bool done) noexcept {
    const std::lock_guard lock(reader_mutex_);
    if (done) leave_file();
    // The reader may not have reached a view yet.
    const Item* const kept = done ? nullptr : reader_;
    if (kept != nullptr) release_until(kept->offset);
    const std::uint32_t last = prefetched_end_ == 0 ? 0 : items_[prefetched_end_ - 1].source;
    for (std::uint32_t i = kept != nullptr ? kept->source : 0; !done && i <= last; ++i) {
        const source::Source& source = *plan_.stored().sources()[i];
        const std::uint64_t begin = kept != nullptr && i == kept->source ? kept->stored_end() : 0;
        source::release(source, begin, source.size() - begin);
    }
    // Once more all of them: the pages of some came after the reader had passed.
    const std::lock_guard absent_lock(absent_mutex_);
    for (const auto& [number, begin, end, dropped_end] : absent_) {
        const bool is_kept = kept != nullptr && number == kept->source;
        evict(number, begin, is_kept ? std::min(end, kept->offset) : end);
        if (is_kept) evict(number, std::max(begin, kept->stored_end()), end);
    }
    absent_.clear();
    dropped_ = 0;
}

}  // namespace onnxmap::bulk
