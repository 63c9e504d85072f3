// Varints as upb reads them: up to ten bytes, bits above the 63rd dropped.
#pragma once

#include <cstdint>

#include "wire/tag.hpp"

namespace onnxmap::wire {

struct Varint {
    std::uint64_t value;
    int nbytes;  // 0: the bytes ended before the varint did; -1: more than ten bytes
};

/// Reads the varint that starts at `p`. Reads no byte from `end` on.
[[nodiscard, gnu::always_inline]] inline Varint read_varint(const std::uint8_t* p,
                                                            const std::uint8_t* end) noexcept {
    if (p < end && *p < 0x80) return {*p, 1};
    std::uint64_t value = 0;
    for (int i = 0; i < kMaxVarintBytes; ++i) {
        if (p + i >= end) return {0, 0};
        const std::uint64_t byte = p[i];
        value |= (byte & 0x7f) << (7 * i);  // at i = 9 only the lowest bit survives, as in upb
        if (byte < 0x80) return {value, i + 1};
    }
    return {0, -1};
}

}  // namespace onnxmap::wire
