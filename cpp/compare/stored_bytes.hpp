// Compares ranges of stored bytes where they are. Bytes of a mapped file or of a buffer are not
// copied; the pages of a mapping are released again. Other bytes are read in parts that fit into
// the cache.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "tensor/payload.hpp"

namespace onnxmap::compare {

/// Two ranges of the same length.
struct BytePair {
    tensor::Payload a;
    tensor::Payload b;
    bool equal = true;
};

/// Whether both ranges are the same bytes of the same file: they need not be read.
[[nodiscard]] bool is_same_place(const tensor::Payload& a, const tensor::Payload& b);

/// Whether the bytes are equal. Throws Error `file.changed`, FileError.
[[nodiscard]] bool equal_bytes(const tensor::Payload& a, const tensor::Payload& b);

/// Sets `equal` of each pair, with several threads. Adds to `done` how many bytes of each list were
/// found equal. Throws what equal_bytes() throws, and os::Stopped.
void compare_bytes(std::span<BytePair> pairs, std::atomic<std::uint64_t>& done);

}  // namespace onnxmap::compare
