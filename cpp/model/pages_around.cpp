#include "model/pages_around.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "io/page_cache.hpp"

namespace onnxmap::model {

namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;
// A fault maps what is in memory around it, up to a huge page.
constexpr std::uint64_t kAround = 2 * kMebibyte;

}  // namespace

PagesAround::PagesAround(const BulkPlan& plan, std::uint64_t window)
    : plan_(plan),
      items_(plan.items()),
      chunk_nbytes_(std::clamp<std::uint64_t>(window / 16, 64 << 10, 2 * kMebibyte)),
      step_(std::min(window / 16, 8 * kMebibyte)) {}

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
    bool is_there = true;
    io::prefetch_absent(source, chunk.begin, chunk.end,
                        [&](std::uint64_t begin, std::uint64_t end) {
                            is_there = false;
                            const std::lock_guard lock(brought_mutex_);
                            brought_.push_back({item.source, begin, end});
                        });
    // Of files of others the system says that all is in memory.
    if (is_there && !io::is_cached(source, chunk.end - 1)) {
        is_there = false;
        io::prefetch(source, chunk.begin, chunk.nbytes());
    }
    // Mapping pages that are still being read would wait for each of them, and ask for no others
    // meanwhile.
    if (is_there) io::populate(source, chunk.begin, chunk.nbytes());
    const std::lock_guard lock(reader_mutex_);
    if (reader_ == nullptr || reader_->source < item.source) return;
    // The reader was faster, and has given back what only came now.
    if (reader_->source > item.source || reader_->offset >= chunk.end) {
        io::release(source, chunk.begin, chunk.nbytes());
    }
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
    end -= end % io::page_size();
    while (true) {
        Range range;
        {
            const std::lock_guard lock(brought_mutex_);
            // Of a file that the reader has left, the last ones may come late.
            if (brought_.empty() || brought_.front().source > reader_->source) return;
            Range& front = brought_.front();
            range = front;
            if (range.source == reader_->source) range.end = std::min(range.end, end);
            if (range.end <= range.begin) return;
            front.begin = range.end;
            if (front.begin == front.end) brought_.pop_front();
        }
        io::evict(*plan_.sources()[range.source], range.begin, range.end - range.begin);
    }
}

void PagesAround::give_back_all(bool done) noexcept {
    const std::lock_guard lock(reader_mutex_);
    if (done) {
        leave_file();
        return;
    }
    Place at{0, 0};  // the reader may have come to no view yet
    if (reader_ != nullptr) {
        release_until(reader_->offset);
        drop_until(reader_->offset);
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
        const bool here = reader_ != nullptr && range.source == reader_->source;
        const std::uint64_t begin =
            here ? std::max(range.begin, reader_->stored_end()) : range.begin;
        if (begin >= range.end) continue;
        io::evict(*plan_.sources()[range.source], begin, range.end - begin);
    }
    brought_.clear();
}

}  // namespace onnxmap::model
