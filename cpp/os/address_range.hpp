// Memory for some bytes of a large file, each at the address that corresponds to its offset.
#pragma once

#include <cstdint>

#include "base/byte_ranges.hpp"
#include "base/no_copy.hpp"

namespace onnxmap::os {

/// Addresses begin() .. begin() + nbytes. They are reserved, and only cost memory when written to.
/// If the process may not have enough address space (RLIMIT_AS), Linux maps only the requested
/// pages, in a region that it never uses by itself. POSIX cannot do that.
class AddressRange : NoCopy {
  public:
    /// Throws std::bad_alloc, also if the process cannot have that many addresses.
    explicit AddressRange(std::uint64_t nbytes);
    ~AddressRange();

    [[nodiscard]] std::uint8_t* begin() const noexcept { return begin_; }

    /// Makes bytes begin .. end writable. At first they are zeros. Throws std::bad_alloc.
    void use(std::uint64_t begin, std::uint64_t end);

  private:
    std::uint8_t* begin_ = nullptr;
    std::uint64_t nbytes_;
    bool reserved_ = true;
    ByteRanges usable_;  // whole pages, if not all can be written to
};

}  // namespace onnxmap::os
