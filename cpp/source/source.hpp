// The owner of bytes: one source per file or buffer. Every view handed out, in C++ or as a NumPy
// array's base, shares the source. The last one releases the mapping.
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
#include "base/no_copy.hpp"
#include "os/guarded_region.hpp"
#include "os/pooled_file.hpp"

namespace onnxmap::source {

class OwnedBytes;

/// A moment at which a source was last checked for changes, or after which it must have been
/// checked.
using Timestamp = std::chrono::steady_clock::time_point;

[[nodiscard]] inline Timestamp now() noexcept { return std::chrono::steady_clock::now(); }

/// For Source::check_unchanged: at most Source::check_interval() ago.
inline constexpr Timestamp kRecently = Timestamp::max();

enum class IoMode { automatic, mmap, read };

/// The parameters for fast reads of much of a source.
struct ReadHabits {
    unsigned at_once;      // the number of concurrent reads that helps
    std::uint64_t nbytes;  // of one read
    std::uint64_t gap;     // the largest gap worth reading through
};

/// Bytes at addresses data() .. data() + size(). Safe to share between threads.
class Source : NoCopy {
  public:
    virtual ~Source() = default;

    [[nodiscard]] const std::uint8_t* data() const noexcept {
        return data_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    [[nodiscard]] ByteView bytes() const noexcept { return {data(), size_}; }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }  // empty: a buffer

    /// Whether arrays can be views of the payload. Otherwise payload is read on request.
    [[nodiscard]] virtual bool viewable() const noexcept { return true; }

    /// "mmap", "read", "remote" or "buffer".
    [[nodiscard]] virtual const char* kind() const noexcept = 0;

    /// data(), by which bytes can be told from those of other sources. A source that is not
    /// viewable() may have had no addresses before. Throws FileError if none are left.
    [[nodiscard]] virtual const std::uint8_t* addresses() const { return data(); }

    /// The bytes for the load pass. Call it before any other use of the bytes.
    [[nodiscard]] virtual std::unique_ptr<ByteFeed> feed();

    /// Ensures that bytes from `offset` on, payload or not, stay in memory as long as the source
    /// lives, and returns them.
    [[nodiscard]] virtual ByteView resident(std::uint64_t offset, std::uint64_t nbytes) const {
        return {data() + offset, nbytes};
    }
    /// Does the same for bytes at these addresses.
    [[nodiscard]] ByteView resident(ByteView bytes) const {
        return bytes.empty() ? bytes : resident(offset_of(bytes), bytes.size());
    }

    /// Copies bytes from `offset` on into `out`. Throws FileError, and Error `file.changed` if the
    /// file has lost them.
    virtual void read(std::uint64_t offset, std::span<std::uint8_t> out) const;

    /// Reads like read(), but a file is read by a system call, not through its mapping.
    virtual void read_file(std::uint64_t offset, std::span<std::uint8_t> out) const {
        file_ ? file_->open()->read(offset, out) : read(offset, out);
    }

    [[nodiscard]] virtual ReadHabits read_habits() const;

    /// Whether read() itself splits a long range into many reads at once, so that callers should
    /// not.
    [[nodiscard]] virtual bool splits_reads() const noexcept { return false; }

    /// How long a check for changes stays valid when tensors are read one by one. A loop over 100
    /// 000 tensors should not make a system call for each.
    [[nodiscard]] virtual Timestamp::duration check_interval() const noexcept {
        return std::chrono::milliseconds(10);
    }

    /// Whether to check for changes again after reading. False if reads report changes themselves,
    /// or if a check takes as long as a read.
    [[nodiscard]] virtual bool checked_after_reading() const noexcept { return true; }

    /// Bytes from `offset` on that may be written to without changing the source: copy-on-write
    /// pages if they are possible and cost less than a copy, otherwise a copy.
    [[nodiscard]] virtual std::shared_ptr<OwnedBytes> writable_copy(std::uint64_t offset,
                                                                    std::uint64_t nbytes) const;

    [[nodiscard]] std::uint64_t offset_of(ByteView bytes) const noexcept {
        return static_cast<std::uint64_t>(bytes.data() - data());
    }

    /// The identity of the file when it was opened; nothing if there is no file.
    [[nodiscard]] std::optional<os::FileIdentity> identity() const {
        return file_ ? std::optional(file_->identity()) : std::nullopt;
    }

    /// A text that identifies a remote file and its state; no other file or state has the same
    /// text. Empty if the source is not remote.
    [[nodiscard]] virtual std::string remote_state() const { return {}; }

    /// Throws Error `file.changed` if the file has changed since it was opened.
    void check_unchanged() const;
    /// The same, but does not check again if it was checked at `since` or later, on a clock that
    /// goes by milliseconds; kRecently means check_interval() ago.
    void check_unchanged(Timestamp since) const;

    /// Whether the bytes are those of a local file, whose pages the page cache may hold.
    [[nodiscard]] bool in_file() const noexcept { return file_ != nullptr; }
    /// Whether the bytes are in memory: a buffer, or bytes of our own. A buffer may be a mapping of
    /// a file that its owner made.
    [[nodiscard]] bool in_memory() const noexcept { return viewable() && !in_file(); }
    /// Whether data() is a mapping of that file.
    [[nodiscard]] bool maps_file() const noexcept { return in_file() && viewable(); }
    /// That file, open; null if there is none. Throws Error `file.changed`, and FileError.
    [[nodiscard]] std::shared_ptr<const os::File> file() const {
        return file_ ? file_->open() : nullptr;
    }
    /// The same, but null if the file cannot be opened.
    [[nodiscard]] std::shared_ptr<const os::File> file_if_any() const;

    /// The path of the file that a buffer is a mapping of, if its owner can tell; else empty.
    [[nodiscard]] virtual std::string mapped_path() const { return {}; }
    /// Adds another way to the file of the source.
    void add_locator(std::shared_ptr<const os::FileLocator> locator) const {
        if (file_) file_->add_locator(std::move(locator));
    }

    /// The region for guards of the bytes; see read_guard.hpp.
    [[nodiscard]] os::GuardedRegion guarded_region() const noexcept {
        return {data(), size_, &lost_pages_};
    }

  protected:
    /// Makes this the source of a local file.
    void take_file(os::File file, std::shared_ptr<const os::FileLocator> locator);

    virtual void check_for_changes() const {
        if (file_) file_->check_unchanged();
    }

    // It changes at most once: see addresses().
    mutable std::atomic<const std::uint8_t*> data_ = nullptr;
    std::uint64_t size_ = 0;
    std::string path_;

  private:
    std::unique_ptr<os::PooledFile> file_;
    mutable std::atomic<Timestamp> checked_at_ = now();
    mutable os::LostPages lost_pages_;
};

/// Maps the file, or with IoMode::read prepares to read it in pieces. IoMode::automatic maps it if
/// mapping works and is fast. `way` reopens the file if its descriptor could not be kept. Throws
/// FileError.
[[nodiscard]] std::shared_ptr<Source> open_source(os::File file, IoMode mode,
                                                  std::shared_ptr<const os::FileLocator> locator);

}  // namespace onnxmap::source
