#include "tensor/header.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "caught.hpp"
#include "sample_models.hpp"
#include "type_codes.hpp"

namespace onnxmap::test {

namespace {

constexpr std::int64_t k2To32 = std::int64_t{1} << 32;

tensor::Header header_of(const Bytes& bytes) {
    return tensor::read_header(onnx::Message(onnx::message<"TensorProto">, bytes));
}

// A header that does not come from a message.
tensor::Header shaped(std::int32_t data_type, const std::vector<std::int64_t>& dims) {
    tensor::Header header;
    header.name = "t";
    header.data_type = data_type;
    for (const std::int64_t dim : dims) header.add_dim(dim);
    return header;
}

std::string count_code(const std::vector<std::int64_t>& dims) {
    return code_of([&] { return tensor::element_count(shaped(kFloat, dims)); });
}

std::uint64_t count(const std::vector<std::int64_t>& dims) {
    return tensor::element_count(shaped(kFloat, dims));
}

}  // namespace

TEST_CASE("header: the fields may come in any order") {
    const Bytes content = {1, 2, 3, 4, 5, 6};
    const Bytes orders[] = {
        join(scalar(1, 2), scalar(1, 3), scalar(2, 2), blob(8, "w"), blob(9, content)),
        join(blob(9, content), blob(8, "w"), packed(1, {2, 3}), scalar(2, 2)),
        join(scalar(2, 9), blob(9, "old"), scalar(1, 2), blob(8, "v"), scalar(999, 1),
             blob(9, content), packed(1, {3}), blob(8, "w"), scalar(2, 2)),
    };
    for (const Bytes& bytes : orders) {
        const tensor::Header header = header_of(bytes);
        CHECK(header.name == "w");
        CHECK(header.data_type == 2);
        REQUIRE(header.dims().size() == 2);
        CHECK(header.dims()[0] == 2);
        CHECK(header.dims()[1] == 3);
        REQUIRE(header.raw_data);
        CHECK(join(*header.raw_data) == content);
        CHECK(header.typed_fields == 0);
        CHECK_FALSE(header.external);
        CHECK_FALSE(header.has_segment);
        CHECK(tensor::element_count(header) == 6);
    }
}

TEST_CASE("header: of an empty tensor") {
    const tensor::Header header = header_of({});
    CHECK(header.name.empty());
    CHECK(header.data_type == 0);
    CHECK(header.rank == 0);
    CHECK_FALSE(header.raw_data);
}

TEST_CASE("header: tells which typed fields hold values") {
    CHECK(header_of(fixed32(4, 0)).typed_fields == 1U << 4);
    CHECK(header_of(packed(5, {1})).typed_fields == 1U << 5);
    CHECK(header_of(blob(6, "")).typed_fields == 1U << 6);  // an empty string is a value
    CHECK(header_of(scalar(7, 1)).typed_fields == 1U << 7);
    CHECK(header_of(join(fixed64(10, 1), packed(11, {1}))).typed_fields == (1U << 10 | 1U << 11));
    CHECK(header_of(join(blob(4, Bytes{}), blob(7, Bytes{}))).typed_fields == 0);
    CHECK(header_of(fixed64(4, 0)).typed_fields == 0);  // another wire type, so unknown
}

TEST_CASE("header: has location and segment") {
    CHECK(header_of(scalar(14, 1)).external);
    CHECK(header_of(scalar(14, (1ULL << 32) + 1)).external);
    CHECK(header_of(join(scalar(14, 1), scalar(14, 7))).external);
    CHECK_FALSE(header_of(join(scalar(14, 1), scalar(14, 0))).external);
    CHECK_FALSE(header_of(scalar(14, 7)).external);
    CHECK(header_of(blob(3, scalar(1, 0))).has_segment);
    CHECK(header_of(join(blob(3, scalar(2, 4)), blob(3, Bytes{}))).has_segment);
    CHECK_FALSE(header_of(blob(3, Bytes{})).has_segment);
    const auto empty_raw = header_of(join(blob(9, "aaaa"), blob(9, "")));
    REQUIRE(empty_raw.raw_data);
    CHECK(empty_raw.raw_data->empty());
}

TEST_CASE("header: more dimensions than NumPy allows are counted, but not stored") {
    const Bytes bytes = join(scalar(2, 1), blob(1, Bytes(10'000, 1)));
    const tensor::Header header = header_of(bytes);
    CHECK(header.rank == 10'000);
    CHECK(header.dims().size() == 64);
    CHECK(code_of([&] { return tensor::element_count(header); }) == "tensor.rank");
    CHECK(count(std::vector<std::int64_t>(64, 1)) == 1);
    CHECK(count_code(std::vector<std::int64_t>(65, 1)) == "tensor.rank");
}

TEST_CASE("header: unknown element types are refused") {
    for (const std::int32_t number : {0, -1, 29, 99}) {
        const auto error = error_of([&] { return &tensor::element_type(shaped(number, {})); });
        REQUIRE(error);
        CHECK(error->code == "tensor.dtype");
        CHECK(error->tensor == "t");
        CHECK(std::string(error->what()).find(std::to_string(number)) != std::string::npos);
    }
    CHECK(tensor::element_type(shaped(kFloat, {})).name == "FLOAT");
}

TEST_CASE("header: shapes whose elements can be counted") {
    CHECK(count({}) == 1);
    CHECK(count({2, 3, 5}) == 30);
    CHECK(count({0}) == 0);
    CHECK(count({7, 0, 3}) == 0);
    CHECK(count({INT64_MAX}) == INT64_MAX);
    CHECK(count({std::int64_t{1} << 62, 0}) == 0);
    CHECK(count({k2To32, k2To32, 0}) == 0);
}

TEST_CASE("header: shapes that are refused") {
    CHECK(count_code({-1}) == "tensor.negative_dim");
    CHECK(count_code({-2, -2}) == "tensor.negative_dim");
    CHECK(count_code({0, -1}) == "tensor.negative_dim");
    CHECK(count_code({k2To32, k2To32, -1}) == "tensor.negative_dim");
    CHECK(count_code({INT64_MIN}) == "tensor.negative_dim");
    CHECK(count_code({k2To32, k2To32}) == "tensor.size_overflow");
    CHECK(count_code({k2To32, k2To32, k2To32}) == "tensor.size_overflow");
    CHECK(count_code({k2To32, std::int64_t{1} << 31}) == "tensor.size_overflow");
    CHECK(count_code(std::vector<std::int64_t>(64, INT64_MAX)) == "tensor.size_overflow");
}

TEST_CASE("header: shapes that NumPy does not allow") {
    const auto fits = [](std::int32_t data_type, const std::vector<std::int64_t>& dims) {
        return code_of([&] {
            tensor::check_fits_numpy(shaped(data_type, dims));
            return 0;
        });
    };
    constexpr std::int64_t k2To60 = std::int64_t{1} << 60;
    CHECK(fits(kUint8, {INT64_MAX}) == "accepted");
    CHECK(fits(kFloat, {k2To60}) == "accepted");
    CHECK(fits(kFloat, {2 * k2To60}) == "tensor.size_overflow");
    CHECK(fits(kFloat, {4 * k2To60}) == "tensor.size_overflow");
    CHECK(fits(kFloat, {4 * k2To60, 4}) == "tensor.size_overflow");
    CHECK(fits(kFloat, {0, 4 * k2To60}) == "tensor.size_overflow");
    CHECK(fits(kUint8, {k2To32, k2To32, 0}) == "tensor.size_overflow");
    CHECK(fits(kInt4, {INT64_MAX}) == "accepted");             // one byte for each element
    CHECK(fits(kString, {k2To60}) == "tensor.size_overflow");  // a pointer for each element
    CHECK(fits(99, {1}) == "tensor.dtype");
}

TEST_CASE("header: number of bytes of packed elements") {
    for (const std::uint32_t bits : {8U, 16U, 32U, 64U, 128U}) {
        CHECK(tensor::packed_nbytes(7, bits) == 7 * bits / 8);
    }
    for (const std::uint32_t bits : {2U, 4U, 6U}) {
        for (std::uint64_t n = 0; n < 100; ++n) {
            CHECK(tensor::packed_nbytes(n, bits) == (n * bits + 7) / 8);
        }
    }
    CHECK(tensor::packed_nbytes(1ULL << 60, 6) == (1ULL << 60) / 8 * 6);
    CHECK(tensor::packed_nbytes(5, 0) == 0);
}

}  // namespace onnxmap::test
