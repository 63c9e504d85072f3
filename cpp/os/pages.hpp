// The pages that bytes of a file are in.
#pragma once

#include <cstdint>

namespace onnxmap::os {

/// Bytes of a file that the operating system deals with as one.
[[nodiscard]] std::uint64_t page_size() noexcept;

/// Pages of a file: offsets of whole pages, but the file may end within the last one.
struct Pages {
    std::uint64_t begin;
    std::uint64_t end;

    [[nodiscard]] std::uint64_t nbytes() const noexcept { return end - begin; }
};

/// Those that bytes begin .. end of a file of `size` bytes are in.
[[nodiscard]] Pages pages_around(std::uint64_t size, std::uint64_t begin,
                                 std::uint64_t end) noexcept;
/// Those that are wholly within the bytes, which may be none. Behind the end of the file nothing is
/// left of a page.
[[nodiscard]] Pages pages_within(std::uint64_t size, std::uint64_t begin,
                                 std::uint64_t end) noexcept;

}  // namespace onnxmap::os
