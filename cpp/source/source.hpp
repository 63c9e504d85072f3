// Where bytes come from: one owner per file or buffer. Whatever is handed out, in C++ or as a
// NumPy array's base, shares it; the last one lets go of the mapping.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/byte_feed.hpp"
#include "base/bytes.hpp"
#include "os/guarded_region.hpp"
#include "os/held_file.hpp"

namespace onnxmap::source {

class OwnedBytes;

/// When something was last looked at, or must have been.
using Moment = std::chrono::steady_clock::time_point;

[[nodiscard]] inline Moment now() noexcept { return std::chrono::steady_clock::now(); }

/// For Source::check_unchanged: no longer ago than a look at that source is worth.
inline constexpr Moment kRecently = Moment::max();

enum class IoMode { automatic, mmap, read };

/// How a source is read fast where much of it is read.
struct ReadHabits {
    unsigned at_once;      // reads at a time that are of use
    std::uint64_t nbytes;  // of one read
    std::uint64_t gap;  // bytes between two pieces that are rather read and dropped than left out
};

/// Bytes at addresses data() .. data() + size(). Safe to share between threads.
class Source {
  public:
    virtual ~Source() = default;
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;

    [[nodiscard]] const std::uint8_t* data() const noexcept { return data_; }
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    [[nodiscard]] ByteView bytes() const noexcept { return {data_, size_}; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }  // empty: a buffer

    /// Whether payload may be looked at where it is. Otherwise it is read when asked for.
    [[nodiscard]] virtual bool viewable() const noexcept { return true; }

    /// "mmap", "read", "remote" or "buffer".
    [[nodiscard]] virtual const char* kind() const noexcept = 0;

    /// For the one pass over the structure, before anything else looks at the bytes.
    [[nodiscard]] virtual std::unique_ptr<ByteFeed> feed();

    /// Makes sure that bytes from `offset` on are in memory, payload or not, for as long as the
    /// source lives, and returns them.
    [[nodiscard]] virtual ByteView resident(std::uint64_t offset, std::uint64_t nbytes) const {
        return {data_ + offset, nbytes};
    }
    /// The same for bytes that are known by their addresses.
    [[nodiscard]] ByteView resident(ByteView bytes) const {
        return bytes.empty() ? bytes : resident(offset_of(bytes), bytes.size());
    }

    /// Copies bytes from `offset` on into `out`. Throws FileError, and Error `file.changed` where
    /// the file has lost them.
    virtual void read(std::uint64_t offset, std::span<std::uint8_t> out) const;

    /// The same by a system call where there is a file, and not through a mapping of it.
    virtual void read_file(std::uint64_t offset, std::span<std::uint8_t> out) const {
        read(offset, out);
    }

    [[nodiscard]] virtual ReadHabits read_habits() const;

    /// Whether read() reads a long range by many reads at once, so that nobody else should.
    [[nodiscard]] virtual bool splits_reads() const noexcept { return false; }

    /// How long a look for changes is good for, where many tensors are read one by one. A loop over
    /// 100 000 tensors shall not pay for a system call each.
    [[nodiscard]] virtual Moment::duration look_every() const noexcept {
        return std::chrono::milliseconds(10);
    }

    /// Whether to look for changes once more after reading. Not where reading itself tells of
    /// them, or a look takes as long.
    [[nodiscard]] virtual bool looked_at_after_reading() const noexcept { return true; }

    /// Bytes from `offset` on that may be written to without changing the source: copy-on-write
    /// pages where that is possible and worth a mapping, otherwise a copy.
    [[nodiscard]] virtual std::shared_ptr<OwnedBytes> writable_copy(std::uint64_t offset,
                                                                    std::uint64_t nbytes) const;

    [[nodiscard]] std::uint64_t offset_of(ByteView bytes) const noexcept {
        return static_cast<std::uint64_t>(bytes.data() - data_);
    }

    /// The file that was opened, as it was then; nothing for what has none.
    [[nodiscard]] virtual std::optional<os::FileIdentity> identity() const { return std::nullopt; }

    /// The same of what is behind a URL: text that nothing else has, nor the same in another state.
    /// Empty for what is not.
    [[nodiscard]] virtual std::string remote_state() const { return {}; }

    /// Throws Error `file.changed` where the file has changed since it was opened. Does not look
    /// again where that was done at `since` or later; kRecently is look_every() ago.
    void check_unchanged(Moment since = now()) const;

    /// Whether the bytes are those of a file, of which the system keeps some pages in memory.
    [[nodiscard]] virtual bool in_file() const noexcept { return false; }
    /// Whether data() is a mapping of that file, and so shows those very pages.
    [[nodiscard]] bool maps_file() const noexcept { return in_file() && viewable(); }
    /// That file, open; null for what has none. Throws Error `file.changed`, and FileError.
    [[nodiscard]] virtual std::shared_ptr<const os::File> file() const { return nullptr; }

    /// One more way to the file of the source.
    virtual void add_way(std::shared_ptr<const os::WayToFile>) const {}

    /// For guards of the bytes; see read_guard.hpp.
    [[nodiscard]] os::GuardedRegion guarded_region() const noexcept {
        return {data_, size_, &lost_pages_};
    }

  protected:
    Source() = default;

    virtual void look_for_changes() const {}

    const std::uint8_t* data_ = nullptr;
    std::uint64_t size_ = 0;
    std::string path_;

  private:
    mutable std::atomic<Moment> looked_at_ = now();
    mutable os::LostPages lost_pages_;
};

/// Maps the file, or with IoMode::read prepares to read it piece by piece; automatic maps where
/// that works and is wise. `way` leads to it again where its descriptor could not be kept. Throws
/// FileError.
[[nodiscard]] std::shared_ptr<Source> open_source(os::File file, IoMode mode,
                                                  std::shared_ptr<const os::WayToFile> way);

}  // namespace onnxmap::source
