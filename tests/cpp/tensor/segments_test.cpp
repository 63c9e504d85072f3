#include "tensor/segments.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

namespace {

using Range = std::pair<std::uint64_t, std::uint64_t>;

Bytes segment(std::uint64_t begin, std::uint64_t end) {
    return blob(3, join(scalar(1, begin), scalar(2, end)));
}

// A piece of a tensor with UINT8 elements.
Bytes piece(const std::vector<std::uint64_t>& dims, const Range& range, std::uint64_t type = 2) {
    return join(packed(1, dims), scalar(2, type), blob(8, "p"), segment(range.first, range.second));
}

tensor::SegmentedTensor join_all(const std::vector<Bytes>& pieces) {
    std::vector<onnx::Message> messages;
    for (const Bytes& bytes : pieces) {
        messages.emplace_back(onnx::message<"TensorProto">, bytes);
    }
    return tensor::join_segments(messages);
}

// The code of the error for pieces with these ranges of ten elements.
std::string code_of_ranges(const std::vector<Range>& ranges) {
    std::vector<Bytes> pieces;
    for (const Range& range : ranges) pieces.push_back(piece({2, 5}, range));
    return code_of([&] { return join_all(pieces).segments.size(); });
}

constexpr std::uint64_t kMinusOne = UINT64_MAX;

}  // namespace

TEST_CASE("segments: pieces are put in the order of their elements") {
    const std::vector<Bytes> pieces = {piece({2, 5}, {7, 10}), piece({2, 5}, {0, 3}),
                                       piece({2, 5}, {3, 7})};
    const auto joined = join_all(pieces);
    const auto& segments = joined.segments;
    REQUIRE(segments.size() == 3);
    CHECK(segments[0].begin == 0);
    CHECK(segments[1].begin == 3);
    CHECK(segments[2].begin == 7);
    CHECK(segments[2].end == 10);
    CHECK(segments[1].count() == 4);
    CHECK(segments[0].tensor.key() == pieces[1].data());
    CHECK(segments[2].tensor.key() == pieces[0].data());
    CHECK(joined.first == pieces[0].data());
}

TEST_CASE("segments: pieces that do not tile the tensor are refused") {
    CHECK(code_of_ranges({{0, 10}}) == "accepted");
    CHECK(code_of_ranges({{0, 1}, {1, 10}}) == "accepted");
    CHECK(code_of_ranges({{5, 10}, {0, 5}}) == "accepted");
    CHECK(code_of_ranges({{0, 5}, {5, 5}, {5, 10}}) == "accepted");  // one piece is empty
    CHECK(code_of_ranges({{0, 0}, {0, 10}}) == "accepted");
    CHECK(code_of_ranges({{10, 10}, {0, 10}}) == "accepted");
    CHECK(code_of_ranges({{0, 9}}) == "tensor.segment");
    CHECK(code_of_ranges({{1, 10}}) == "tensor.segment");
    CHECK(code_of_ranges({{0, 4}, {5, 10}}) == "tensor.segment");   // a gap
    CHECK(code_of_ranges({{0, 6}, {5, 10}}) == "tensor.segment");   // an overlap
    CHECK(code_of_ranges({{0, 10}, {0, 10}}) == "tensor.segment");  // the same piece twice
    CHECK(code_of_ranges({{0, 5}, {5, 10}, {5, 10}}) ==
          "tensor.segment");  // a part of a piece twice
    CHECK(code_of_ranges({{0, 11}}) == "tensor.segment");
    CHECK(code_of_ranges({{0, 10}, {10, 11}}) == "tensor.segment");
    CHECK(code_of_ranges({{4, 2}, {0, 10}}) == "tensor.segment");  // ends before it begins
    CHECK(code_of_ranges({{kMinusOne, 5}, {5, 10}}) == "tensor.segment");
    CHECK(code_of_ranges({{0, kMinusOne}}) == "tensor.segment");
    CHECK(code_of_ranges({{kMinusOne, kMinusOne}, {0, 10}}) == "tensor.segment");
    CHECK(code_of_ranges({{0, 1ULL << 62}}) == "tensor.segment");
}

TEST_CASE("segments: all pieces must have the same shape and type") {
    const auto both = [](const Bytes& other) {
        return code_of([&] { return join_all({piece({2, 5}, {0, 5}), other}).segments.size(); });
    };
    CHECK(both(piece({2, 5}, {5, 10})) == "accepted");
    CHECK(both(piece({10}, {5, 10})) == "tensor.segment");
    CHECK(both(piece({5, 2}, {5, 10})) == "tensor.segment");
    CHECK(both(piece({2, 5, 1}, {5, 10})) == "tensor.segment");
    CHECK(both(piece({2, 5}, {5, 10}, 3)) == "tensor.segment");
    CHECK(both(piece({2, 5}, {5, 10}, 99)) == "tensor.segment");
}

TEST_CASE("segments: how many elements a segment claims") {
    const auto count = [](const Bytes& bytes) {
        return tensor::segment_count(onnx::Message(onnx::message<"TensorProto">, bytes));
    };
    CHECK(count(segment(3, 10)) == 7);
    CHECK(count(segment(3, 3)) == 0);
    CHECK(count(segment(0, INT64_MAX)) == INT64_MAX);
    CHECK(count(blob(3, scalar(2, 4))) == 4);
    CHECK(count({}) == 0);
    // Ranges that make no sense.
    CHECK(count(segment(4, 3)) == 0);
    CHECK(count(segment(kMinusOne, 5)) == 0);
    CHECK(count(segment(0, kMinusOne)) == 0);
}

TEST_CASE("segments: absent numbers are zero, and the error names the tensor") {
    const Bytes no_begin = join(scalar(1, 4), scalar(2, 2), blob(8, "p"), blob(3, scalar(2, 4)));
    CHECK(join_all({no_begin}).segments.front().count() == 4);
    const Bytes empty = join(scalar(1, 0), scalar(2, 2), blob(3, Bytes{}));
    CHECK(join_all({empty}).segments.front().count() == 0);
    const auto error = error_of([] { return join_all({piece({2, 5}, {0, 9})}).segments.size(); });
    REQUIRE(error);
    CHECK(error->tensor == "p");
    CHECK(code_of([] { return join_all({piece({2, 5}, {0, 10}, 0)}).segments.size(); }) ==
          "tensor.dtype");
    CHECK(code_of([] { return join_all({piece({kMinusOne}, {0, 1})}).segments.size(); }) ==
          "tensor.negative_dim");
    CHECK(code_of([] {
              return join_all({piece({1ULL << 40, 1ULL << 40}, {0, 1})}).segments.size();
          }) == "tensor.size_overflow");
}

}  // namespace onnxmap::test
