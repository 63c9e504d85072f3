#include "save/write_content.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "os/page_ranges.hpp"
#include "os/parallel.hpp"
#include "source/source.hpp"

namespace onnxmap::save {

namespace {

// Bytes. Shorter parts are gathered in a buffer, and written together. Longer ones are passed on.
constexpr std::uint64_t kLeastToPass = 64 << 10;
constexpr std::uint64_t kBuffer = 1 << 20;

// Bytes. Longer parts are worth several threads.
constexpr std::uint64_t kLeastToShare = 8 << 20;

// Bytes. A large alignment must not fill the disk with zeros.
constexpr std::uint64_t kLeastHole = 1 << 20;

// Bytes that the sink takes at once, between two looks at progress and signals: some 10 ms.
constexpr std::uint64_t kStep = 16 << 20;
constexpr std::uint64_t kProgressEvery = 4 << 20;

// Bytes read at once from a source that splits long reads: a remote file.
constexpr std::uint64_t kRemoteWindow = 16 << 20;

class Writing {
  public:
    Writing(const FileContent& parts, Sink& sink, const Progress& progress)
        : list_(parts.list()), total_(parts.nbytes()), sink_(sink), progress_(progress) {
        buffer_.reserve(std::min(total_, kBuffer));
    }

    ByteCounts write_all() {
        for (; next_ < list_.size(); ++next_) write(list_[next_]);
        flush();
        if (progress_) progress_(done_, total_);
        return counts_;
    }

  private:
    [[nodiscard]] static bool is_long(const ContentPart& part) noexcept {
        return part.nbytes() >= kLeastToPass;
    }

    // Where the next byte of the file stands.
    [[nodiscard]] std::uint64_t position() const noexcept { return done_ + buffer_.size(); }

    void write(const ContentPart& part) {
        if (part.kind() == ContentPart::Kind::range) {
            (part.source().in_memory() ? counts_.written : counts_.copied) += part.nbytes();
            write_range(part);
        } else if (part.kind() == ContentPart::Kind::memory) {
            counts_.written += part.nbytes();
            put(part.memory());
        } else {
            put_zeros(part.nbytes());
        }
    }

    void write_range(const ContentPart& part) {
        const source::Source& source = part.source();
        std::uint64_t offset = part.offset();
        const std::uint64_t end = offset + part.nbytes();
        if (const auto file = file_to_copy(part)) {
            flush();
            while (offset < end) {
                const std::uint64_t count =
                    sink_.copy(*file, offset, std::min(end - offset, kStep));
                if (count == 0) break;
                offset += count;
                advance(count);
            }
            if (offset < end) uncopyable_ = &source;
        }
        while (offset < end) {
            const ByteView bytes = read(source, offset, end - offset);
            put(bytes);
            offset += bytes.size();
        }
    }

    // The file from which the sink should copy the part; null if it should be read and written.
    [[nodiscard]] std::shared_ptr<const os::File> file_to_copy(const ContentPart& part) const {
        if (!is_long(part) || &part.source() == uncopyable_) return nullptr;
        auto file = part.source().file_if_any();
        if (!file || part.nbytes() >= kLeastToShare) return file;
        // The kernel copies whole pages at once.
        const bool whole_pages = (part.offset() - position()) % os::page_size() == 0;
        return whole_pages || file->on_network() ? file : nullptr;
    }

    // Bytes of a source from `offset` on, at most `nbytes`, which are valid until the next call.
    ByteView read(const source::Source& source, std::uint64_t offset, std::uint64_t nbytes) {
        const bool known = &source == window_source_ && offset >= window_begin_ &&
                           offset - window_begin_ < window_nbytes_;
        if (!known) fill_window(source, offset, nbytes);
        const std::uint64_t skipped = offset - window_begin_;
        return {window_.get() + skipped, std::min(nbytes, window_nbytes_ - skipped)};
    }

    // Reads the ranges of this source that follow, too, as long as the gaps between them are worth
    // reading through.
    void fill_window(const source::Source& source, std::uint64_t offset, std::uint64_t nbytes) {
        window_nbytes_ = 0;
        if (&source != window_source_) {
            window_source_ = &source;
            gap_ = source.read_habits().gap;
        }
        // Whole pages are written faster, so the first of several windows ends with a page.
        const std::uint64_t most =
            (source.splits_reads() ? kRemoteWindow : kBuffer) - position() % os::page_size();
        const bool copyable = source.in_file() && &source != uncopyable_;
        std::uint64_t end = offset + nbytes;
        for (std::size_t i = next_ + 1; i < list_.size() && end - offset < most; ++i) {
            const ContentPart& part = list_[i];
            if (part.kind() != ContentPart::Kind::range) continue;
            if (&part.source() != &source || part.offset() < end) break;
            if (part.offset() - end > gap_ || (copyable && is_long(part))) break;
            end = part.offset() + part.nbytes();
        }
        const std::uint64_t count = std::min(end - offset, most);
        if (count > window_capacity_) {
            window_ = std::make_unique_for_overwrite<std::uint8_t[]>(count);
            window_capacity_ = count;
        }
        read_source(source, offset, {window_.get(), count});
        window_begin_ = offset;
        window_nbytes_ = count;
    }

    void put(ByteView bytes) {
        if (bytes.size() >= kLeastToPass) {
            flush();
            while (!bytes.empty()) {
                const ByteView piece = bytes.first(std::min<std::uint64_t>(bytes.size(), kStep));
                sink_.write(piece);
                advance(piece.size());
                bytes = bytes.subspan(piece.size());
            }
            return;
        }
        if (buffer_.size() + bytes.size() > kBuffer) flush();
        buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    }

    void put_zeros(std::uint64_t nbytes) {
        if (nbytes >= kLeastHole) {
            flush();
            if (sink_.skip(nbytes)) {
                advance(nbytes);
                return;
            }
        }
        counts_.written += nbytes;
        while (nbytes > 0) {
            if (buffer_.size() == kBuffer) flush();
            const std::uint64_t count = std::min(nbytes, kBuffer - buffer_.size());
            buffer_.resize(buffer_.size() + count);
            nbytes -= count;
        }
    }

    void flush() {
        if (buffer_.empty()) return;
        sink_.write(buffer_);
        advance(buffer_.size());
        buffer_.clear();
    }

    void advance(std::uint64_t nbytes) {
        os::leave_if_stopped();
        done_ += nbytes;
        if (!progress_ || done_ - told_ < kProgressEvery) return;
        told_ = done_;
        progress_(done_, total_);
    }

    std::span<const ContentPart> list_;
    std::uint64_t total_;
    Sink& sink_;
    const Progress& progress_;
    std::size_t next_ = 0;  // the part that is being written
    std::uint64_t done_ = 0;
    std::uint64_t told_ = 0;
    ByteCounts counts_;
    std::vector<std::uint8_t> buffer_;  // gathered, not yet written
    const source::Source* uncopyable_ = nullptr;
    const source::Source* window_source_ = nullptr;
    std::uint64_t gap_ = 0;
    std::uint64_t window_begin_ = 0;
    std::uint64_t window_nbytes_ = 0;  // 0: nothing was read
    std::uint64_t window_capacity_ = 0;
    std::unique_ptr<std::uint8_t[]> window_;
};

}  // namespace

void read_source(const source::Source& source, std::uint64_t offset, std::span<std::uint8_t> out) {
    try {
        source.read_file(offset, out);
        return;
    } catch (const Error& error) {
        if (error.code != "file.changed" || !source.maps_file()) throw;
    } catch (const FileError& error) {
        if (!os::is_shortage(error) || !source.maps_file()) throw;
    }
    source.read(offset, out);
}

void SinkFunction::write(ByteView bytes) {
    while (!bytes.empty()) {
        const ByteView piece = bytes.first(std::min<std::uint64_t>(bytes.size(), kBuffer));
        take_(piece);
        bytes = bytes.subspan(piece.size());
    }
}

ByteCounts write_content(const FileContent& parts, Sink& sink, const Progress& progress) {
    for (const auto& source : parts.sources()) {
        // A check of a remote file is a request.
        source->check_unchanged(source->checked_after_reading() ? source::now()
                                                                : source::kRecently);
    }
    const ByteCounts counts = Writing(parts, sink, progress).write_all();
    for (const auto& source : parts.sources()) {
        if (source->checked_after_reading()) source->check_unchanged();
    }
    return counts;
}

}  // namespace onnxmap::save
