// Memory for some bytes of a large file, each at the address that its offset gives it.
#pragma once

#include <cstdint>

#include "base/byte_ranges.hpp"

namespace onnxmap::os {

/// Addresses begin() .. begin() + nbytes. They are reserved, and cost memory where they are written
/// to. If the process may not have so much address space (RLIMIT_AS), Linux maps only the pages
/// that are asked for, in a region that it hands out to nobody by itself. POSIX cannot do that.
class AddressRange {
  public:
    /// Throws std::bad_alloc, also where that is more than a process has addresses for.
    explicit AddressRange(std::uint64_t nbytes);
    ~AddressRange();
    AddressRange(const AddressRange&) = delete;
    AddressRange& operator=(const AddressRange&) = delete;

    [[nodiscard]] std::uint8_t* begin() const noexcept { return begin_; }

    /// Makes bytes begin .. end writable; zeros at first. Throws std::bad_alloc.
    void use(std::uint64_t begin, std::uint64_t end);

  private:
    std::uint8_t* begin_ = nullptr;
    std::uint64_t nbytes_;
    bool reserved_ = true;
    ByteRanges usable_;  // whole pages, if not all can be written to
};

}  // namespace onnxmap::os
