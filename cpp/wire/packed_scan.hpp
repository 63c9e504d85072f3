// Checks whether a packed run of varints is well formed, 64 bytes at a time. A run is well formed
// if its last byte is below 0x80 and no ten bytes in a row have the continuation bit.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"
#include "wire/varint.hpp"

namespace onnxmap::wire {

class PackedScan {
  public:
    /// Checks the next bytes of the run. Returns false after a varint that is too long.
    [[nodiscard]] bool feed(ByteView bytes) noexcept;

    /// Whether the run may end here.
    [[nodiscard]] bool complete() const noexcept { return history_ >> 63 == 0; }

    /// The number of bytes of the unfinished varint so far.
    [[nodiscard]] int unfinished() const noexcept;

  private:
    std::uint64_t history_ = 0;  // continuation bits of the last 64 bytes, the newest highest
};

}  // namespace onnxmap::wire
