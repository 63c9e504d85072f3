// The set for x86-64 with AVX2, F16C and BMI (2013 and later).
#pragma once

#include "kernels/kernel_set.hpp"

namespace onnxmap::kernels {

#if defined(__x86_64__)
extern const KernelSet kAvx2;
#endif

}  // namespace onnxmap::kernels
