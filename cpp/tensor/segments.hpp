// A tensor in pieces: several TensorProtos of one name, each with a segment of the elements.
// Source: onnx.proto, TensorProto.segment. It does not define everything. The rest follows Caffe2,
// where the field comes from: dims and data_type are the whole tensor's, and begin and end count
// elements.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "onnx/message.hpp"
#include "tensor/header.hpp"

namespace onnxmap::tensor {

struct Segment {
    onnx::Message tensor;
    std::uint64_t begin;
    std::uint64_t end;  // after the last element

    [[nodiscard]] std::uint64_t count() const noexcept { return end - begin; }
};

/// A tensor that is stored in segments.
struct SegmentedTensor {
    std::vector<Segment> segments;  // in the order of their elements
    const std::uint8_t* first;      // the message of the first segment in the file
    std::uint64_t stored_nbytes;    // of all segments
};

/// Null for a tensor without segments.
using Segments = std::shared_ptr<const SegmentedTensor>;

/// The number of elements of a TensorProto with a segment, by the segment; 0 if the segment is
/// invalid.
[[nodiscard]] std::uint64_t segment_count(const onnx::Message& tensor);

/// Sorts the segments of one tensor, given in file order, by their elements. Throws Error
/// `tensor.segment` if they differ in shape or type, or do not cover the tensor exactly once. Also
/// throws what element_count and element_type throw.
[[nodiscard]] SegmentedTensor join_segments(const std::vector<onnx::Message>& pieces);

}  // namespace onnxmap::tensor
