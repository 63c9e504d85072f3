// A tensor in pieces: several TensorProtos of one name, each with a segment of the elements.
// Source: onnx.proto, TensorProto.segment. What it leaves open is read as Caffe2, where the field
// comes from, has it: dims and data_type are the whole tensor's, begin and end count elements.
#pragma once

#include <cstdint>
#include <vector>

#include "onnx/message.hpp"
#include "tensor/header.hpp"

namespace onnxmap::tensor {

struct Segment {
    onnx::Message tensor;
    std::uint64_t begin;
    std::uint64_t end;  // behind the last element

    [[nodiscard]] std::uint64_t count() const noexcept { return end - begin; }
};

/// A tensor that is stored in segments.
struct SegmentedTensor {
    std::vector<Segment> segments;  // in the order of their elements
    const std::uint8_t* first;      // the message of the first segment in the file
    std::uint64_t stored_nbytes;    // of all segments
};

/// How many elements a TensorProto with a segment says it has; 0 where that makes no sense.
[[nodiscard]] std::uint64_t segment_count(const onnx::Message& tensor);

/// Sorts the segments of one tensor, which are given in file order, by their elements. Throws Error
/// `tensor.segment` if they differ in shape or type or do not tile the tensor. Also throws what
/// element_count and element_type throw.
[[nodiscard]] SegmentedTensor join_segments(const std::vector<onnx::Message>& pieces);

}  // namespace onnxmap::tensor
