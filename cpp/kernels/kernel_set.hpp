// The loops that turn stored elements into array elements, or sum them. They know no ONNX, only
// widths and bits.
// Every set computes the same results, bit for bit. The best set for this processor is chosen at
// the first use.
//
// Each conversion takes `count` elements at `from` and writes them at `to`. Neither address need be
// aligned, and the ranges do not overlap. Nothing outside the ranges is read or written.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/moments.hpp"

namespace onnxmap::kernels {

using Kernel = void (*)(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to);

/// Counts the float32 numbers whose bits, without the sign, are least .. most.
using CountBetween = std::uint64_t (*)(const std::uint8_t* from, std::uint64_t count,
                                       std::uint32_t least, std::uint32_t most);

/// float32 values of the 256 codes of a byte, as bits.
using Table = const std::uint32_t*;
using LookUp = void (*)(const std::uint8_t* from, std::uint64_t count, Table table,
                        std::uint8_t* to);

/// Reads up to `count` varints of a packed run from `p` on, and writes them as 64-bit integers.
/// Stops early near the end of the run, and at a varint of more than ten bytes. Leaves `p` after
/// the last varint that it read, and returns how many it read.
using ReadVarints = std::uint64_t (*)(const std::uint8_t*& p, const std::uint8_t* end,
                                      std::uint64_t count, std::uint8_t* to);

/// The CRC-32 of all bytes so far. `before`: the CRC-32 of the earlier bytes; 0 if there are none.
using Crc32 = std::uint32_t (*)(const std::uint8_t* from, std::uint64_t count,
                                std::uint32_t before) noexcept;

struct KernelSet {
    std::string_view name;
    bool (*supported)() noexcept;

    // Unpacks elements to one byte each: the code in the low bits, the other bits zero. The first
    // element is in the lowest bits. Source: onnx.proto, TensorProto.raw_data.
    Kernel unpack2;
    Kernel unpack4;
    Kernel unpack6;

    // Rounds to nearest, ties to even. Between float16 and float32 a NaN keeps its payload, as in
    // NumPy. As bfloat16 it becomes the quiet NaN of its sign, as in ml_dtypes.
    Kernel float16_to_float32;
    Kernel bfloat16_to_float32;
    Kernel float32_to_float16;
    Kernel float32_to_bfloat16;
    // To the types of 8 bits, which saturate: larger values and infinity become the largest finite
    // value. Source: onnx, Cast-19 with saturate=1.
    Kernel float32_to_e4m3fn;
    Kernel float32_to_e4m3fnuz;
    Kernel float32_to_e5m2;
    Kernel float32_to_e5m2fnuz;

    CountBetween count_between;
    LookUp look_up;
    ReadVarints read_varints;
    Crc32 crc32;

    const MomentLoops* float16;
    const MomentLoops* bfloat16;
    const MomentLoops* float32;
    const MomentLoops* float64;
};

extern const KernelSet kScalar;
extern const KernelSet
    kAvx2;  // defined for x86-64 alone: AVX2, F16C, BMI and CLMUL (2013 and later)
extern const KernelSet kNeon;  // defined for aarch64 alone

/// The set in use.
[[nodiscard]] const KernelSet& kernels() noexcept;

/// Sets that this processor can run, the plainest first.
[[nodiscard]] std::span<const KernelSet* const> supported_sets() noexcept;

/// For tests: uses the set with this name from now on, in the whole process. False if there is no
/// such set.
bool use_set(std::string_view name) noexcept;

/// Packs elements of 2, 4 or 6 bits, one byte each at `codes`, in the layout of `raw_data`. The
/// unused bits of the last byte are zero.
void pack(std::uint32_t bits, const std::uint8_t* codes, std::uint64_t count, std::uint8_t* to);

}  // namespace onnxmap::kernels
