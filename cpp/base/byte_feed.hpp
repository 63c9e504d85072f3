// Supplies a single pass over a file with bytes, so that the whole file need not be in memory. The
// reader asks for bytes at an offset, and the feed (a buffer, or a window that moves along) returns
// them.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace onnxmap {

class ByteFeed {
  public:
    virtual ~ByteFeed() = default;

    [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;

    /// Bytes from `offset` on: at least min(`least`, size() - offset), often more. Valid until the
    /// next call. Throws Error `file.changed` if the file became shorter.
    [[nodiscard]] virtual ByteView at(std::uint64_t offset, std::uint64_t least) = 0;

    /// Announces bytes that are skipped now but are not payload: they will be read later.
    virtual void keep(std::uint64_t /*offset*/, std::uint64_t /*nbytes*/) {}
};

/// A feed over bytes that are all in memory.
class MemoryFeed final : public ByteFeed {
  public:
    explicit MemoryFeed(ByteView bytes) noexcept : bytes_(bytes) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
    [[nodiscard]] ByteView at(std::uint64_t offset, std::uint64_t) override {
        return bytes_.subspan(offset);
    }

  private:
    ByteView bytes_;
};

}  // namespace onnxmap
