// The plain set: C++ that the compiler vectorises for the baseline of the target (SSE2, NEON). The
// other sets also use it for the last few elements.
#pragma once

#include "kernels/kernel_set.hpp"

namespace onnxmap::kernels {

extern const KernelSet kScalar;

namespace scalar {

void unpack2(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to);
void unpack4(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to);
void unpack6(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to);
void float16_to_float32(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to);
void bfloat16_to_float32(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to);
void float32_to_float16(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to);
void float32_to_bfloat16(const std::uint8_t* from, std::uint64_t count, std::uint8_t* to);
std::uint64_t read_varints(const std::uint8_t*& p, const std::uint8_t* end, std::uint64_t count,
                           std::uint8_t* to);
void look_up(const std::uint8_t* from, std::uint64_t count, Table table, std::uint8_t* to);

extern const MomentLoops kFloat16;
extern const MomentLoops kBfloat16;
extern const MomentLoops kFloat32;
extern const MomentLoops kFloat64;

}  // namespace scalar
}  // namespace onnxmap::kernels
