// A file that is not mapped. Bytes are read once, on first use. Each byte goes to the reserved
// address that corresponds to its offset, as in a mapping. Only used pages cost memory, and a later
// truncation of the file does not change bytes that were read.
#pragma once

#include <optional>

#include "base/byte_ranges.hpp"
#include "os/address_range.hpp"
#include "os/fork_safe_mutex.hpp"
#include "source/source.hpp"
#include "source/window.hpp"

namespace onnxmap::source {

/// How read() is called for bytes that the source keeps.
enum class Reads {
    below_the_mutex,  // straight to their addresses; other threads wait, and then use them
    on_their_own,     // concurrently: reads take long, or need a lock that others may hold
};

/// A derived class implements read().
class FetchedSource : public Source {
  public:
    [[nodiscard]] bool viewable() const noexcept override { return false; }
    /// From here on the source has addresses. A source whose structure is never read needs none.
    [[nodiscard]] std::unique_ptr<ByteFeed> feed() override;
    [[nodiscard]] const std::uint8_t* addresses() const override;
    [[nodiscard]] ByteView resident(std::uint64_t offset, std::uint64_t nbytes) const override;
    void read(std::uint64_t offset, std::span<std::uint8_t> out) const override = 0;

  protected:
    explicit FetchedSource(Reads reads, WindowSize window_size = WindowSize())
        : reads_(reads), window_size_(window_size) {}

  private:
    [[nodiscard]] os::AddressRange& memory() const;  // protected by the mutex
    void fill(std::uint64_t offset, std::uint64_t end) const;
    void fill_on_their_own(std::uint64_t offset, std::uint64_t end) const;

    Reads reads_;
    WindowSize window_size_;  // the initial state of every feed
    mutable os::ForkSafeMutex mutex_;
    mutable std::optional<os::AddressRange> memory_;
    mutable ByteRanges filled_;
};

}  // namespace onnxmap::source
