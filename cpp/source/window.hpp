// Reads a file in one pass through one small window. After a jump over a payload it reads little;
// sequential reads grow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/byte_feed.hpp"
#include "os/file.hpp"
#include "source/pages_ahead.hpp"

namespace onnxmap::source {

/// Decides how much to read at once.
class WindowSize {
  public:
    static constexpr std::uint64_t kLeast = 512;
    static constexpr std::uint64_t kMost = 128 << 10;  // stays in the second-level cache
    static constexpr std::uint64_t kNear = 16 << 10;   // copying that much costs one system call

    /// In bytes: the read after a jump, the largest read, and the largest skip that is not a jump.
    /// The defaults are for local files.
    struct Bounds {
        std::uint64_t least = kLeast;
        std::uint64_t most = kMost;
        std::uint64_t near = kNear;
    };

    WindowSize() noexcept : WindowSize(Bounds()) {}
    explicit WindowSize(Bounds bounds) noexcept : bounds_(bounds) {}

    /// The bytes that a jump to `offset` skips; 0 if `offset` was read before or is near the bytes
    /// read before.
    [[nodiscard]] std::uint64_t skipped(std::uint64_t offset) const noexcept {
        return offset <= end_ + bounds_.near ? 0 : offset - end_;
    }

    /// The number of bytes to read at `offset`, at least `least`.
    [[nodiscard]] std::uint64_t next(std::uint64_t offset, std::uint64_t least) noexcept {
        size_ = skipped(offset) == 0 ? std::min(2 * size_, bounds_.most) : bounds_.least;
        const std::uint64_t nbytes = std::max(size_, least);
        end_ = offset + nbytes;
        return nbytes;
    }

  private:
    Bounds bounds_;
    std::uint64_t size_ = 4 * bounds_.least;
    std::uint64_t end_ = 0;
};

class WindowFeed : public ByteFeed {
  public:
    explicit WindowFeed(std::shared_ptr<const os::File> file)
        : WindowFeed(file, file->size(), WindowSize()) {}

    [[nodiscard]] std::uint64_t size() const noexcept final { return size_; }
    [[nodiscard]] ByteView at(std::uint64_t offset, std::uint64_t least) final;

  protected:
    /// `file`: a local file, or null.
    WindowFeed(std::shared_ptr<const os::File> file, std::uint64_t size, WindowSize window_size)
        : file_(std::move(file)), size_(size), window_size_(window_size) {}

  private:
    [[nodiscard]] virtual ByteView read(std::uint64_t offset, std::uint64_t nbytes);

    std::shared_ptr<const os::File> file_;
    std::uint64_t size_;
    WindowSize window_size_;
    PagesAhead pages_ahead_;
    std::vector<std::uint8_t> window_;
};

}  // namespace onnxmap::source
