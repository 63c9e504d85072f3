// A factor for hashes of numbers that lie close together, such as addresses.
#pragma once

#include <cstdint>

namespace onnxmap {

/// The products differ in their upper bits: it is 2^64 over the golden ratio.
inline constexpr std::uint64_t kScatter = 0x9e37'79b9'7f4a'7c15;

}  // namespace onnxmap
