// The set for x86-64 with AVX2, F16C and BMI (2013 and later).
#pragma once

#include "kernels/kernel_set.hpp"

namespace onnxmap::kernels {

#if defined(__x86_64__)
extern const KernelSet kAvx2;

namespace avx2 {

extern const MomentLoops kFloat16;
extern const MomentLoops kBfloat16;
extern const MomentLoops kFloat32;
extern const MomentLoops kFloat64;

}  // namespace avx2
#endif

}  // namespace onnxmap::kernels
