#include "model/pages_around.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "io/page_cache.hpp"

namespace onnxmap::model {

namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;
// A fault maps what is in memory around it, up to a huge page; and pages of the cache come and go
// in pieces that may be as large.
constexpr std::uint64_t kAround = 2 * kMebibyte;
// A system that reads so far ahead of who touches pages in order keeps the disk busy. What comes in
// this way comes in large pieces, what is asked for in single pages, which cost more to map and to
// drop: 3.4 GB take 2.1 s and 3.5 s.
constexpr std::uint64_t kFarAhead = kMebibyte;
// Of what the system reads ahead: it is one to two times that ahead of who is first.
constexpr std::uint64_t kLookedAhead = 8;

void drop(const io::Source& source, std::uint64_t begin, std::uint64_t end) {
    if (begin < end) io::evict(source, begin, end - begin);
}

}  // namespace

PagesAround::PagesAround(const BulkPlan& plan, std::uint64_t window, ReadAheadOf read_ahead_of)
    : plan_(plan),
      items_(plan.items()),
      chunk_nbytes_(std::clamp<std::uint64_t>(window / 16, 64 << 10, 2 * kMebibyte)),
      step_(std::min(window / 16, 8 * kMebibyte)),
      read_ahead_of_(read_ahead_of) {}

PagesAround::Chunk PagesAround::next(Place& at) const {
    const BulkItem& first = items_[at.item];
    Chunk chunk{at.item, at.item, first.offset + at.offset, first.offset + at.offset};
    while (true) {
        const BulkItem& item = items_[at.item];
        chunk.last = at.item;
        const std::uint64_t begin = item.offset + at.offset;
        const std::uint64_t room = chunk_nbytes_ - std::min(chunk_nbytes_, begin - chunk.begin);
        const std::uint64_t here = std::min(item.stored_nbytes - at.offset, room);
        chunk.end = std::max(chunk.end, begin + here);
        at.offset += here;
        if (at.offset < item.stored_nbytes) return chunk;
        at = {at.item + 1, 0};
        if (at.item == items_.size()) return chunk;
        const BulkItem& following = items_[at.item];
        // Neighbours only: what is between two views is not asked for.
        if (following.reading != Reading::view || following.source != first.source ||
            following.offset > chunk.end + io::page_size() || chunk.nbytes() >= chunk_nbytes_) {
            return chunk;
        }
    }
}

void PagesAround::bring(const Chunk& chunk) {
    const BulkItem& item = items_[chunk.first];
    const io::Source& source = *plan_.source(item);
    if (!source.maps_file() || chunk.nbytes() == 0) return;
    brought_end_ = chunk.last + 1;
    if (at_.source != item.source) read_ahead_.reset();
    // Of tensors that share bytes, the next may begin before the end of the last.
    if (at_.source != item.source || chunk.begin < at_.offset) looked_end_ = 0;
    come_to({item.source, chunk.begin});
    if (reads_far_ahead(source, chunk)) {
        note_absent(source, chunk);
        if (!is_passed(item, chunk)) io::populate(source, chunk.begin, chunk.nbytes());
    } else if (!is_passed(item, chunk) && !ask_for(source, chunk)) {
        // Mapping pages that are still being read would wait for each of them, and ask for no
        // others meanwhile.
        io::populate(source, chunk.begin, chunk.nbytes());
    }
    come_to({item.source, chunk.end});
    // The reader was faster, and has given back what only came now.
    if (is_passed(item, chunk)) io::release(source, chunk.begin, chunk.nbytes());
}

void PagesAround::come_to(Position at) noexcept {
    const std::lock_guard lock(brought_mutex_);
    at_ = at;
}

bool PagesAround::is_passed(const BulkItem& item, const Chunk& chunk) {
    const std::lock_guard lock(reader_mutex_);
    if (reader_ == nullptr || reader_->source < item.source) return false;
    return reader_->source > item.source || reader_->offset >= chunk.end;
}

// A short chunk lies between bytes that nobody wants.
bool PagesAround::reads_far_ahead(const io::Source& source, const Chunk& chunk) {
    if (chunk.nbytes() < kFarAhead) return false;
    if (!read_ahead_) read_ahead_ = read_ahead_of_(source);
    return *read_ahead_ >= kFarAhead;
}

// What the system reads ahead is brought, too, and what it reads around the first page that is
// touched; and the reader may be ahead.
void PagesAround::note_absent(const io::Source& source, const Chunk& chunk) {
    const std::uint64_t begin = chunk.begin - std::min(chunk.begin, *read_ahead_);
    const std::uint64_t end = std::min(chunk.end + kLookedAhead * *read_ahead_, source.size());
    io::tell_absent(source, std::max(begin, looked_end_), end,
                    [&](std::uint64_t first, std::uint64_t last) { note(first, last); });
    looked_end_ = std::max(looked_end_, end);
}

void PagesAround::note(std::uint64_t begin, std::uint64_t end) {
    const std::lock_guard lock(brought_mutex_);
    // As one: a piece of the cache that is in two ranges would be dropped with neither.
    if (!brought_.empty() && brought_.back().source == at_.source && brought_.back().end == begin) {
        brought_.back().end = end;
    } else {
        brought_.push_back({at_.source, begin, end});
    }
}

// Whether anything is not in memory.
bool PagesAround::ask_for(const io::Source& source, const Chunk& chunk) {
    bool is_there = true;
    io::prefetch_absent(source, chunk.begin, chunk.end,
                        [&](std::uint64_t begin, std::uint64_t end) {
                            is_there = false;
                            begin = std::max(begin, looked_end_);
                            if (begin < end) note(begin, end);
                        });
    looked_end_ = std::max(looked_end_, chunk.end);
    // Of files of others the system says that all is in memory.
    if (is_there && !io::is_cached(source, chunk.end - 1)) {
        is_there = false;
        io::prefetch(source, chunk.begin, chunk.nbytes());
    }
    return !is_there;
}

void PagesAround::reader_at(const BulkItem& item) {
    const std::lock_guard lock(reader_mutex_);
    if (reader_ == nullptr || reader_->source != item.source) {
        leave_file();
        released_ = item.offset - std::min(item.offset, kAround);
        reader_ = &item;
    } else {
        reader_ = &item;
        give_back_until(item.offset);
    }
}

void PagesAround::reader_left() {
    const std::lock_guard lock(reader_mutex_);
    if (reader_ != nullptr) give_back_until(reader_->stored_end());
}

void PagesAround::give_back_until(std::uint64_t end) noexcept {
    if (end < released_ + step_) return;
    release_until(end);
    drop_until(end);
}

void PagesAround::leave_file() noexcept {
    if (reader_ == nullptr) return;
    release_until(reader_->stored_end() + kAround);
    drop_until(UINT64_MAX);
}

void PagesAround::release_until(std::uint64_t end) noexcept {
    const io::Source& source = *plan_.source(*reader_);
    end = std::min(end, source.size());
    if (end > released_) io::release(source, released_, end - released_);
    released_ = end - end % io::page_size();
}

void PagesAround::drop_until(std::uint64_t end) noexcept {
    while (true) {
        Range range;
        {
            const std::lock_guard lock(brought_mutex_);
            // Of a file that the reader has left, the last ones may come late.
            if (brought_.empty() || brought_.front().source > reader_->source) return;
            Range& front = brought_.front();
            range = front;
            std::uint64_t stop = range.source == reader_->source ? end : UINT64_MAX;
            // Otherwise it would be brought again, behind the reader.
            if (range.source == at_.source) stop = std::min(stop, at_.offset);
            range.end = std::min(range.end, stop - stop % kAround);
            if (range.end <= range.begin) return;
            front.begin = range.end;
            if (front.begin == front.end) brought_.pop_front();
        }
        io::evict(*plan_.sources()[range.source], range.begin, range.end - range.begin);
    }
}

void PagesAround::give_back_all(bool done) noexcept {
    come_to(kNowhere);
    const std::lock_guard lock(reader_mutex_);
    if (done) {
        leave_file();
        return;
    }
    Place at{0, 0};  // the reader may have come to no view yet
    if (reader_ != nullptr) {
        release_until(reader_->offset);
        at.item = static_cast<std::size_t>(reader_ - items_.data()) + 1;
    }
    while (at.item < brought_end_) {
        if (items_[at.item].reading != Reading::view) {
            at = {at.item + 1, 0};
            continue;
        }
        const Chunk chunk = next(at);
        io::release(*plan_.source(items_[chunk.first]), chunk.begin, chunk.nbytes());
    }
    for (const Range& range : brought_) {
        const io::Source& source = *plan_.sources()[range.source];
        if (reader_ == nullptr || range.source != reader_->source) {
            drop(source, range.begin, range.end);
        } else {
            drop(source, range.begin, std::min(range.end, reader_->offset));
            drop(source, std::max(range.begin, reader_->stored_end()), range.end);
        }
    }
    brought_.clear();
}

}  // namespace onnxmap::model
