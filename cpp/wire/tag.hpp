// Tags of the protobuf wire format. Source: protobuf.dev, "Encoding".
#pragma once

#include <cstdint>

namespace onnxmap::wire {

enum class WireType : std::uint8_t {
    varint = 0,
    fixed64 = 1,
    length_delimited = 2,
    start_group = 3,
    end_group = 4,
    fixed32 = 5,
};

inline constexpr std::uint64_t kMaxTag = 0xffff'ffff;  // field numbers end at 2^29 - 1
inline constexpr int kMaxTagBytes = 5;
inline constexpr int kMaxVarintBytes = 10;
inline constexpr int kMaxLengthBytes = 5;  // of a length that five bytes can hold

/// Messages and groups below the root. Source: protobuf's own default.
inline constexpr std::uint32_t kDefaultDepth = 100;

}  // namespace onnxmap::wire
