#include "io/file_copy.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "io/window.hpp"

namespace onnxmap::io {

namespace {

class CopyFeed final : public ByteFeed {
  public:
    explicit CopyFeed(const FileCopy& copy) noexcept : copy_(copy) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return copy_.size(); }

    [[nodiscard]] ByteView at(std::uint64_t offset, std::uint64_t least) override {
        const std::uint64_t left = copy_.size() - offset;
        const std::uint64_t nbytes = std::min(read_ahead_.next(offset, least), left);
        copy_.fill(offset, nbytes);
        return {copy_.data() + offset, nbytes};
    }

    void keep(std::uint64_t offset, std::uint64_t nbytes) override { copy_.fill(offset, nbytes); }

  private:
    const FileCopy& copy_;
    ReadAhead read_ahead_;
};

}  // namespace

FileCopy::FileCopy(File file) : file_(std::move(file)) {
    size_ = file_.size();
    path_ = file_.path();
    if (size_ == 0) return;
    void* address = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) throw FileError(errno, path_);
    memory_ = static_cast<std::uint8_t*>(address);
    data_ = memory_;
}

FileCopy::~FileCopy() {
    if (memory_ != nullptr) ::munmap(memory_, size_);
}

std::unique_ptr<ByteFeed> FileCopy::feed() { return std::make_unique<CopyFeed>(*this); }

void FileCopy::note_filled(Range range) const {
    auto first = std::lower_bound(filled_.begin(), filled_.end(), range.begin,
                                  [](const Range& r, std::uint64_t at) { return r.end < at; });
    auto last = first;
    for (; last != filled_.end() && last->begin <= range.end; ++last) {
        range.begin = std::min(range.begin, last->begin);
        range.end = std::max(range.end, last->end);
    }
    filled_.insert(filled_.erase(first, last), range);
}

void FileCopy::fill(std::uint64_t offset, std::uint64_t nbytes) const {
    const std::lock_guard lock(mutex_);
    // Bytes that somebody may be looking at are not read again.
    const std::uint64_t end = offset + nbytes;
    auto next = std::lower_bound(filled_.begin(), filled_.end(), offset,
                                 [](const Range& r, std::uint64_t at) { return r.end <= at; });
    std::uint64_t at = offset;
    for (; at < end; ++next) {
        const std::uint64_t stop = next == filled_.end() ? end : std::min(end, next->begin);
        if (at < stop) file_.read(at, {memory_ + at, stop - at});
        if (next == filled_.end()) break;
        at = next->end;
    }
    note_filled({offset, end});
}

ByteView FileCopy::resident(ByteView bytes) const {
    if (!bytes.empty()) fill(offset_of(bytes), bytes.size());
    return bytes;
}

void FileCopy::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
    file_.read(offset, out);
}

}  // namespace onnxmap::io
