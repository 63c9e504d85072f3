#include "source/fetched_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include "base/error.hpp"

namespace onnxmap::source {

namespace {

// Bytes per concurrent read: extra memory, but enough for many requests at once.
constexpr std::uint64_t kBeside = 128 << 20;
// The most bytes per read with the mutex held, while other threads and forks wait.
constexpr std::uint64_t kBelow = 8 << 20;

class RangeFeed final : public WindowFeed {
  public:
    RangeFeed(const FetchedSource& source, WindowSize window_size)
        : WindowFeed(source.file(), source.size(), window_size), source_(source) {}

    void keep(std::uint64_t offset, std::uint64_t nbytes) override {
        static_cast<void>(source_.resident(offset, nbytes));
    }

  private:
    [[nodiscard]] ByteView read(std::uint64_t offset, std::uint64_t nbytes) override {
        return source_.resident(offset, nbytes);
    }

    const FetchedSource& source_;
};

}  // namespace

std::unique_ptr<ByteFeed> FetchedSource::feed() {
    static_cast<void>(addresses());
    return std::make_unique<RangeFeed>(*this, window_size_);
}

const std::uint8_t* FetchedSource::addresses() const {
    if (size_ > 0) {
        const std::lock_guard lock(mutex_);
        data_ = memory().begin();
    }
    return data();
}

ByteView FetchedSource::resident(std::uint64_t offset, std::uint64_t nbytes) const {
    if (nbytes == 0) return {};
    const bool below = reads_ == Reads::below_the_mutex;
    const std::uint64_t end = offset + nbytes;
    for (std::uint64_t begin = offset, most = below ? kBelow : kBeside; begin < end;) {
        const std::uint64_t stop = begin + std::min(most, end - begin);
        below ? fill(begin, stop) : fill_on_their_own(begin, stop);
        begin = stop;
    }
    const std::lock_guard lock(mutex_);
    return {memory().begin() + offset, nbytes};
}

void FetchedSource::fill(std::uint64_t offset, std::uint64_t end) const {
    const std::lock_guard lock(mutex_);
    std::uint8_t* const bytes = memory().begin();
    memory().use(offset, end);
    // Bytes that are already there may be in use, so they are not read again.
    filled_.for_each_missing(offset, end, [&](std::uint64_t first, std::uint64_t last) {
        read(first, {bytes + first, last - first});
    });
    filled_.add(offset, end);
}

// Does not hold the mutex: a thread that waits for it may hold a lock that read() needs. If two
// threads want the same bytes, both read them, and those of the first are kept.
void FetchedSource::fill_on_their_own(std::uint64_t offset, std::uint64_t end) const {
    std::uint64_t first = end;
    std::uint64_t last = offset;
    {
        const std::lock_guard lock(mutex_);
        filled_.for_each_missing(offset, end, [&](std::uint64_t from, std::uint64_t to) {
            first = std::min(first, from);
            last = to;
        });
    }
    if (first >= last) return;
    // Reads one piece, even if its middle is already there: a read costs more than its bytes.
    const auto beside = std::make_unique_for_overwrite<std::uint8_t[]>(last - first);
    read(first, {beside.get(), last - first});
    const std::lock_guard lock(mutex_);
    std::uint8_t* const bytes = memory().begin();
    memory().use(first, last);
    filled_.for_each_missing(first, last, [&](std::uint64_t from, std::uint64_t to) {
        std::memcpy(bytes + from, beside.get() + (from - first), to - from);
    });
    filled_.add(first, last);
}

os::AddressRange& FetchedSource::memory() const {
    try {
        if (!memory_) memory_.emplace(size_);
    } catch (const std::bad_alloc&) {
        throw FileError(ENOMEM, path_);
    }
    return *memory_;
}

}  // namespace onnxmap::source
