// Feeds that are as unhelpful as the contract of ByteFeed allows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "base/byte_feed.hpp"
#include "placed_bytes.hpp"

namespace onnxmap::test {

/// Gives exactly the requested minimum of bytes in a heap block of their own, and frees the
/// previous block. AddressSanitizer sees every byte that is read too far or too late.
class LeastFeed final : public ByteFeed {
  public:
    explicit LeastFeed(ByteView bytes) : bytes_(bytes) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
    [[nodiscard]] ByteView at(std::uint64_t offset, std::uint64_t least) override {
        if (offset > bytes_.size()) throw std::logic_error("asked for bytes behind the end");
        if (least == 0) throw std::logic_error("asked for no bytes");
        const std::uint64_t nbytes = std::min(least, bytes_.size() - offset);
        window_ = std::make_unique<HeapCopy>(bytes_.subspan(offset, nbytes));
        served_ += nbytes;
        return window_->view();
    }

    /// The number of bytes of all calls together.
    [[nodiscard]] std::uint64_t served() const noexcept { return served_; }

  private:
    ByteView bytes_;
    std::unique_ptr<HeapCopy> window_;
    std::uint64_t served_ = 0;
};

/// Moves its window with each call, gives a random surplus, and overwrites the previous window. In
/// every build, a byte that is read too late is a wrong byte.
class ScribblingFeed final : public ByteFeed {
  public:
    ScribblingFeed(ByteView bytes, std::uint64_t seed) : bytes_(bytes), random_(seed) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
    [[nodiscard]] ByteView at(std::uint64_t offset, std::uint64_t least) override {
        std::vector<std::uint8_t>& before = windows_.at(turn_);
        std::fill(before.begin(), before.end(), random_() % 2 == 0 ? 0xff : 0x00);
        turn_ = (turn_ + 1) % windows_.size();
        const std::uint64_t nbytes = std::min(least + random_() % 8, bytes_.size() - offset);
        const ByteView part = bytes_.subspan(offset, nbytes);
        windows_.at(turn_).assign(part.begin(), part.end());
        return windows_.at(turn_);
    }

  private:
    ByteView bytes_;
    std::mt19937_64 random_;
    std::array<std::vector<std::uint8_t>, 3> windows_;
    std::size_t turn_ = 0;
};

}  // namespace onnxmap::test
