#include "tensor/segments.hpp"

#include <algorithm>
#include <string>

#include "onnx/schema.hpp"
#include "tensor/payload.hpp"

namespace onnxmap::tensor {

using onnx::field;

namespace {

struct Range {
    std::int64_t begin;
    std::int64_t end;
};

Range range_of(const onnx::Message& tensor) {
    const auto segment = tensor.child(field<"TensorProto.segment">);
    if (!segment) return {0, 0};
    return {segment->int64(field<"TensorProto.Segment.begin">),
            segment->int64(field<"TensorProto.Segment.end">)};
}

}  // namespace

std::uint64_t segment_count(const onnx::Message& tensor) {
    const auto [begin, end] = range_of(tensor);
    return begin < 0 || end < begin ? 0 : static_cast<std::uint64_t>(end - begin);
}

SegmentedTensor join_segments(const std::vector<onnx::Message>& pieces) {
    SegmentedTensor joined{{}, pieces.front().key(), 0};
    std::vector<Segment>& segments = joined.segments;
    segments.reserve(pieces.size());
    const Header whole = read_header(pieces.front());
    static_cast<void>(element_type(whole));
    const std::uint64_t count = element_count(whole);
    for (const onnx::Message& piece : pieces) {
        const Header header = read_header(piece);
        if (header.data_type != whole.data_type ||
            !std::ranges::equal(header.dims(), whole.dims())) {
            fail(whole, "tensor.segment", "its segments differ in shape or type");
        }
        const auto [begin, end] = range_of(piece);
        if (begin < 0 || end < begin || static_cast<std::uint64_t>(end) > count) {
            fail(whole, "tensor.segment",
                 "a segment from " + std::to_string(begin) + " to " + std::to_string(end) +
                     " is not a range of its " + std::to_string(count) + " elements");
        }
        segments.push_back(
            {piece, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end)});
        joined.stored_nbytes += stored_nbytes(piece, header);
    }
    std::ranges::sort(segments, [](const Segment& a, const Segment& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    std::uint64_t next = 0;
    for (const Segment& segment : segments) {
        if (segment.begin != next) {
            fail(whole, "tensor.segment",
                 "its segments have a gap or overlap: the next should begin at element " +
                     std::to_string(next) + ", but begins at " + std::to_string(segment.begin));
        }
        next = segment.end;
    }
    if (next != count) {
        fail(whole, "tensor.segment",
             "its segments are incomplete: they end at element " + std::to_string(next) + " of " +
                 std::to_string(count));
    }
    return joined;
}

}  // namespace onnxmap::tensor
