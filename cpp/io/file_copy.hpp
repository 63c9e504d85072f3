// A file that is not mapped: what is looked at is read, once, into address space of our own, at
// the place where the file has it. So offsets and addresses agree as in a mapping, only touched
// pages cost memory, and a file truncated later changes nothing that was read.
#pragma once

#include <mutex>
#include <optional>

#include "io/address_range.hpp"
#include "io/byte_ranges.hpp"
#include "io/held_file.hpp"
#include "io/source.hpp"

namespace onnxmap::io {

class FileCopy final : public Source {
  public:
    FileCopy(File file, std::shared_ptr<const WayToFile> way);

    [[nodiscard]] bool viewable() const noexcept override { return false; }
    [[nodiscard]] const char* kind() const noexcept override { return "read"; }
    /// From here on the source has addresses; one whose structure nobody reads needs none.
    [[nodiscard]] std::unique_ptr<ByteFeed> feed() override;
    [[nodiscard]] ByteView resident(std::uint64_t offset, std::uint64_t nbytes) const override;
    void read(std::uint64_t offset, std::span<std::uint8_t> out) const override;
    [[nodiscard]] std::optional<FileIdentity> identity() const override;
    [[nodiscard]] bool in_file() const noexcept override { return true; }
    [[nodiscard]] std::shared_ptr<const File> file() const override { return file_.open(); }
    void add_way(std::shared_ptr<const WayToFile> way) const override;

  private:
    void look_for_changes() const override;
    [[nodiscard]] AddressRange& memory() const;  // below the mutex

    mutable HeldFile file_;
    mutable std::mutex mutex_;
    mutable std::optional<AddressRange> memory_;
    mutable ByteRanges filled_;
};

}  // namespace onnxmap::io
