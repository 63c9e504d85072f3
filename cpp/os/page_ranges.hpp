// The pages that hold bytes of a file.
#pragma once

#include <cstdint>

#include "base/byte_ranges.hpp"

namespace onnxmap::os {

/// The page size of the system: 4 KiB on x86-64; 4, 16 or 64 KiB on aarch64.
[[nodiscard]] std::uint64_t page_size() noexcept;

/// For tests: a multiple of the system's page size, which page_size() returns from now on.
void use_page_size(std::uint64_t nbytes) noexcept;

/// A range of whole pages of a file, as offsets. The file may end within the last page.
using Pages = ByteRange;

/// The pages that hold bytes begin .. end of a file of `size` bytes.
[[nodiscard]] Pages pages_around(std::uint64_t size, std::uint64_t begin,
                                 std::uint64_t end) noexcept;
/// The pages that lie wholly within the bytes, possibly none. The last page of the file counts as
/// whole if the bytes reach the end of the file.
[[nodiscard]] Pages pages_within(std::uint64_t size, std::uint64_t begin,
                                 std::uint64_t end) noexcept;

}  // namespace onnxmap::os
