#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "wire_bytes.hpp"

namespace onnxmap::test {

// Never zero, so a byte that was not read can be told from one that was.
inline Bytes random_bytes(std::size_t count) {
    std::mt19937_64 random(count);
    Bytes bytes(count);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(1 + random() % 255);
    return bytes;
}

// Whether `view` shows what `bytes` has from `offset` on.
inline bool shows(ByteView view, const Bytes& bytes, std::uint64_t offset) {
    return std::equal(view.begin(), view.end(),
                      bytes.begin() + static_cast<std::ptrdiff_t>(offset));
}

}  // namespace onnxmap::test
