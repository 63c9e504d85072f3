// The loops that turn stored elements into array elements. They know no ONNX: only widths and
// bits. Every set computes the same, bit for bit; the best one for this processor is chosen when
// the first is needed.
//
// All take `count` elements at `from` and write them at `to`; neither need be aligned, and the
// ranges do not overlap. Nothing outside the ranges is read or written.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace onnxmap::kernels {

using Kernel = void (*)(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to);

/// float32 values of the 256 codes of a byte, as bits.
using Table = const std::uint32_t*;
using LookUp = void (*)(const std::uint8_t* from, std::uint64_t count, Table table,
                        std::uint8_t* to);

/// Reads up to `count` varints of a packed run from `p` on, and writes them as 64-bit integers.
/// Stops early where it would have to look out for the end, or at one of more than ten bytes.
/// Leaves `p` behind the last that it read, and returns how many those are.
using ReadVarints = std::uint64_t (*)(const std::uint8_t*& p, const std::uint8_t* end,
                                      std::uint64_t count, std::uint8_t* to);

struct KernelSet {
    std::string_view name;
    bool (*supported)() noexcept;

    // Packed elements to a byte each, the code in the low bits, the others zero; the first element
    // is in the lowest bits. Source: onnx.proto, TensorProto.raw_data.
    Kernel unpack2;
    Kernel unpack4;
    Kernel unpack6;

    // Rounding to nearest, ties to even. NaN keeps its payload between float16 and float32, as
    // NumPy has it; as bfloat16 it is the quiet NaN of its sign, as ml_dtypes has it.
    Kernel float16_to_float32;
    Kernel bfloat16_to_float32;
    Kernel float32_to_float16;
    Kernel float32_to_bfloat16;

    LookUp look_up;
    ReadVarints read_varints;
};

/// The set in use.
[[nodiscard]] const KernelSet& kernels() noexcept;

/// Sets that this processor can run, the plainest first.
[[nodiscard]] std::span<const KernelSet* const> supported_sets();

/// For tests: uses this set from now on, in the whole process. False if there is no such set.
bool use_set(std::string_view name) noexcept;

/// Elements of 2, 4 or 6 bits, a byte each at `codes`, packed as `raw_data` has them: the rest of
/// the last byte is zero.
void pack(std::uint32_t bits, const std::uint8_t* codes, std::uint64_t count, std::uint8_t* to);

}  // namespace onnxmap::kernels
