#include "bulk/pages_around.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "source/page_cache.hpp"

namespace onnxmap::bulk {

namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;
// In read-aheads. The system reads one or two ahead of the thread that touches pages first, which
// may be the reader. Pages there that others bring meanwhile count as brought by the stream.
constexpr std::uint64_t kLookedAhead = 4;

std::uint64_t whole_pages(std::uint64_t nbytes) {
    return (nbytes + os::page_size() - 1) / os::page_size() * os::page_size();
}

void drop(const source::Source& source, std::uint64_t begin, std::uint64_t end) {
    if (begin < end) source::evict(source, begin, end - begin);
}

}  // namespace

PagesAround::PagesAround(const Plan& plan, std::uint64_t window, ReadAhead::Ask ask_read_ahead)
    : plan_(plan),
      items_(plan.items()),
      chunk_nbytes_(std::clamp<std::uint64_t>(window / 16, 64 << 10, 2 * kMebibyte)),
      step_(std::min(window / 16, 8 * kMebibyte)),
      read_ahead_(plan, plan.items(), window / 2, ask_read_ahead) {}

PagesAround::Chunk PagesAround::next(Cursor& at) const {
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

void PagesAround::look_first() {
    const auto view = std::ranges::find(items_, Reading::view, &Item::reading);
    if (view == items_.end()) return;
    Cursor at{static_cast<std::size_t>(view - items_.begin()), 0};
    const Chunk chunk = next(at);
    const source::Source& source = *plan_.source(*view);
    if (source.maps_file()) static_cast<void>(look_around(source, chunk));
}

void PagesAround::bring(const Chunk& chunk) {
    const Item& item = items_[chunk.first];
    const source::Source& source = *plan_.source(item);
    if (!source.maps_file() || chunk.nbytes() == 0) return;
    brought_end_ = chunk.last + 1;
    const bool is_far = look_around(source, chunk);
    if (!is_passed(item, chunk)) {
        const bool is_mapped = is_far && source::populate(source, chunk.begin, chunk.nbytes());
        // Mapping pages that are still being read would wait for each of them, and would ask for no
        // others meanwhile.
        if (!is_mapped && !ask_for(source, chunk)) {
            source::populate(source, chunk.begin, chunk.nbytes());
        }
    }
    come_to({item.source, chunk.end, around_});
    // The reader passed the chunk before its pages arrived, so they are released here.
    if (is_passed(item, chunk)) source::release(source, chunk.begin, chunk.nbytes());
}

// Notes which pages are absent from the chunk and from the bytes around it that the system may
// bring. Returns whether the system reads far ahead there.
bool PagesAround::look_around(const source::Source& source, const Chunk& chunk) {
    const std::uint32_t number = items_[chunk.first].source;
    if (at_.source != number) {
        read_ahead_.enter(items_[chunk.first]);
        around_ = read_ahead_.nbytes() / 2;
        looked_end_ = 0;
        come_to({number, 0, around_});
    } else if (chunk.begin < at_.offset) {
        come_to({number, chunk.begin, around_});  // of tensors that share bytes
    }
    // Otherwise the position stays at the end of the last chunk until this chunk is in memory:
    // pages that the system still reads between the two cannot be dropped yet.
    const bool is_far = read_ahead_.is_far(chunk.first, chunk.begin, chunk.end);
    const std::uint64_t begin = chunk.begin - std::min(chunk.begin, around_);
    const std::uint64_t ahead = is_far ? kLookedAhead * read_ahead_.nbytes() : 0;
    const std::uint64_t left = source.size() - chunk.end;
    const std::uint64_t end = left <= ahead ? source.size() : whole_pages(chunk.end + ahead);
    source::tell_absent(source, std::max(begin, looked_end_), end,
                        [&](std::uint64_t first, std::uint64_t last) { note(first, last); });
    looked_end_ = std::max(looked_end_, end);
    return is_far;
}

void PagesAround::note(std::uint64_t begin, std::uint64_t end) {
    const std::lock_guard lock(absent_mutex_);
    // Joined into one range: a folio that spans two ranges would be dropped with neither.
    if (!absent_.empty() && absent_.back().source == at_.source && absent_.back().end == begin) {
        absent_.back().end = end;
    } else {
        absent_.push_back({at_.source, begin, end});
    }
}

// Asks for the pages of the chunk that are absent. Returns whether any is absent.
bool PagesAround::ask_for(const source::Source& source, const Chunk& chunk) {
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

void PagesAround::come_to(Position at) noexcept {
    const std::lock_guard lock(absent_mutex_);
    at_ = at;
}

bool PagesAround::is_passed(const Item& item, const Chunk& chunk) {
    const std::lock_guard lock(reader_mutex_);
    if (reader_ == nullptr || reader_->source < item.source) return false;
    return reader_->source > item.source || reader_->offset >= chunk.end;
}

void PagesAround::reader_at(const Item& item) {
    const std::lock_guard lock(reader_mutex_);
    if (reader_ == nullptr || reader_->source != item.source) {
        leave_file();
        released_ = item.offset - std::min(item.offset, os::kMappedAround);
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
    // If the range ended inside a huge page, the system would have to split the mapping.
    release_until(step_ < os::kMappedAround ? end : end - end % os::kMappedAround);
    drop_until(end);
}

void PagesAround::leave_file() noexcept {
    if (reader_ == nullptr) return;
    release_until(reader_->stored_end() + os::kMappedAround);
    drop_until(UINT64_MAX);
}

void PagesAround::release_until(std::uint64_t end) noexcept {
    const source::Source& source = *plan_.source(*reader_);
    end = std::min(end, source.size());
    if (end > released_) source::release(source, released_, end - released_);
    released_ = end - end % os::page_size();
}

void PagesAround::drop_until(std::uint64_t end) noexcept {
    while (true) {
        Range range;
        {
            const std::lock_guard lock(absent_mutex_);
            // The last pages of a file that the reader has left may arrive late.
            if (absent_.empty() || absent_.front().source > reader_->source) return;
            Range& front = absent_.front();
            range = front;
            std::uint64_t stop = range.source == reader_->source ? end : UINT64_MAX;
            // Pages that are dropped too early would be brought again, behind the reader.
            if (range.source == at_.source) {
                stop = std::min(stop, at_.offset);
                stop -= std::min(stop, at_.around);
            }
            range.end = std::min(range.end, stop - stop % os::kMappedAround);
            if (range.end <= range.begin) return;
            front.begin = range.end;
            if (front.begin == front.end) absent_.pop_front();
        }
        drop(*plan_.sources()[range.source], range.begin, range.end);
    }
}

void PagesAround::give_back_all(bool done) noexcept {
    come_to(kNowhere);
    const std::lock_guard lock(reader_mutex_);
    if (done) {
        leave_file();
        return;
    }
    Cursor at{0, 0};  // the reader may not have reached a view yet
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
        source::release(*plan_.source(items_[chunk.first]), chunk.begin, chunk.nbytes());
    }
    for (const Range& range : absent_) {
        const source::Source& source = *plan_.sources()[range.source];
        if (reader_ == nullptr || range.source != reader_->source) {
            drop(source, range.begin, range.end);
        } else {
            drop(source, range.begin, std::min(range.end, reader_->offset));
            drop(source, std::max(range.begin, reader_->stored_end()), range.end);
        }
    }
    absent_.clear();
}

}  // namespace onnxmap::bulk
