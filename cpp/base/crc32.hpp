// The checksum of ZIP archives. Source: ISO 3309; the algorithm with 16 tables is Intel's
// "slicing-by-16".
#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace onnxmap {

/// The CRC-32 of bytes that follow others, whose CRC-32 is `before`.
[[nodiscard]] std::uint32_t crc32(ByteView bytes, std::uint32_t before = 0) noexcept;

}  // namespace onnxmap
