// The numbers of element types as onnx.proto has them, for tensors that a test writes.
#pragma once

#include <cstdint>

namespace onnxmap::test {

enum : std::uint64_t {
    kFloat = 1,
    kUint8 = 2,
    kInt8 = 3,
    kInt32 = 6,
    kInt64 = 7,
    kString = 8,
    kBool = 9,
    kFloat16 = 10,
    kDouble = 11,
    kUint32 = 12,
    kUint64 = 13,
    kComplex64 = 14,
    kComplex128 = 15,
    kUint4 = 21,
    kInt4 = 22,
    kUint2 = 25,
    kInt2 = 26,
    kFloat6 = 27,
};

}  // namespace onnxmap::test
