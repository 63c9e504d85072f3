// Parts of tensors: the elements inside a box of indices, read without the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "tensor/values.hpp"

namespace onnxmap::tensor {

/// The indices begin .. begin + count of one dimension.
struct IndexRange {
    std::uint64_t begin = 0;
    std::uint64_t count = 0;
};

/// In elements: the largest gap between two rows that is worth reading through, and the most that
/// is read at a time if there are gaps.
struct BoxReads {
    std::uint64_t largest_gap = 16 << 10;
    std::uint64_t at_once = 1 << 20;
};

/// Reads elements begin .. begin + count of an array.
using ReadElements =
    std::function<void(std::uint64_t begin, std::uint64_t count, std::uint8_t* to)>;

/// Reads the elements of a box of an array in row-major order, in few reads. `box`: a range inside
/// each dimension. `out` has room for all elements.
void read_box(std::span<const std::int64_t> dims, std::uint64_t itemsize,
              std::span<const IndexRange> box, const ReadElements& read, std::uint8_t* out,
              const BoxReads& reads = {});

/// The same of values that have a payload.
void read_box(const Values& values, std::span<const IndexRange> box, std::uint8_t* out);

}  // namespace onnxmap::tensor
