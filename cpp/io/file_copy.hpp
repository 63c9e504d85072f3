// A file that is not mapped: what is looked at is read, once, into address space of our own, at
// the place where the file has it. So offsets and addresses agree as in a mapping, only touched
// pages cost memory, and a file truncated later changes nothing that was read.
#pragma once

#include <mutex>
#include <vector>

#include "io/file.hpp"
#include "io/source.hpp"

namespace onnxmap::io {

class FileCopy final : public Source {
  public:
    explicit FileCopy(File file);
    ~FileCopy() override;

    [[nodiscard]] bool viewable() const noexcept override { return false; }
    [[nodiscard]] const char* kind() const noexcept override { return "read"; }
    [[nodiscard]] std::unique_ptr<ByteFeed> feed() override;
    [[nodiscard]] ByteView resident(ByteView bytes) const override;
    void read(std::uint64_t offset, std::span<std::uint8_t> out) const override;

    /// Reads bytes offset .. offset + nbytes into place.
    void fill(std::uint64_t offset, std::uint64_t nbytes) const;

  private:
    struct Range {
        std::uint64_t begin, end;
    };

    void note_filled(Range range) const;

    File file_;
    std::uint8_t* memory_ = nullptr;
    mutable std::mutex mutex_;
    mutable std::vector<Range> filled_;  // sorted, apart from each other
};

}  // namespace onnxmap::io
