#include "model/sparse_tensor.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "caught.hpp"
#include "loaded_model.hpp"

namespace onnxmap::test {

namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::uint64_t kFloat = 1;
constexpr std::uint64_t kInt64 = 7;

std::vector<std::uint64_t> varints(const Numbers& numbers) {
    return {numbers.begin(), numbers.end()};
}

Bytes shape_of(const Numbers& shape) { return packed(1, varints(shape)); }

Bytes floats(std::size_t count, std::string_view name = "s") {
    return join(shape_of({static_cast<std::int64_t>(count)}), scalar(2, kFloat), blob(8, name),
                blob(9, Bytes(count * 4, 1)));
}

Bytes int64s(const Numbers& shape, const Numbers& numbers) {
    Bytes raw;
    for (const std::int64_t number : numbers) {
        append(raw, little_endian(static_cast<std::uint64_t>(number), 8));
    }
    return join(shape_of(shape), scalar(2, kInt64), blob(9, raw));
}

Bytes linear(const Numbers& positions) {
    return int64s({static_cast<std::int64_t>(positions.size())}, positions);
}

Bytes sparse(const Bytes& values, const Bytes& indices, const Numbers& dims) {
    return join(blob(1, values), blob(2, indices), packed(3, varints(dims)));
}

// Calls use(tensor) with the only sparse initializer of a model.
template <class Use>
auto with_sparse(const Bytes& bytes, Use&& use) {
    const LoadedModel loaded(blob(15, bytes));
    return use(model::SparseTensor(*loaded.document, loaded.graph.sparse_initializer(0)));
}

std::vector<std::int64_t> dims_of(const Bytes& bytes) {
    return with_sparse(bytes, [](const auto& tensor) { return tensor.dims(); });
}

model::SparseStructure structure_of_sparse(const Bytes& bytes) {
    return with_sparse(bytes, [](const auto& tensor) { return tensor.check_structure(); });
}

Numbers positions_of(const Bytes& bytes) {
    return with_sparse(bytes, [](const auto& tensor) {
        const auto found = tensor.positions(tensor.check_structure());
        Numbers numbers(found->size() / sizeof(std::int64_t));
        if (!numbers.empty()) std::memcpy(numbers.data(), found->bytes().data(), found->size());
        return numbers;
    });
}

// "accepted" if the structure is good.
std::string structure_code(const Bytes& bytes) {
    return code_of([&] { return structure_of_sparse(bytes); });
}

// The error of indices whose structure is good.
Error index_error(const Bytes& indices, const Numbers& dims, std::size_t count) {
    const Bytes bytes = sparse(floats(count), indices, dims);
    REQUIRE(structure_code(bytes) == "accepted");
    const auto error = error_of([&] { return positions_of(bytes); });
    REQUIRE(error);
    CHECK(error->tensor == "s");
    return *error;
}

bool says(const Error& error, std::string_view text) {
    return std::string_view(error.what()).find(text) != std::string_view::npos;
}

}  // namespace

TEST_CASE("sparse_tensor: the values have the name, and dims may be packed and unpacked") {
    const LoadedModel loaded(
        blob(15, join(blob(1, raw_tensor("s", {1, 2})), blob(2, raw_tensor("i", {0, 1})),
                      packed(3, {9, 2}), scalar(3, 4))));
    const model::SparseTensor sparse(*loaded.document, loaded.graph.sparse_initializer(0));
    CHECK(sparse.name() == "s");
    CHECK(sparse.values().text(onnx::field<"TensorProto.name">) == "s");
    CHECK(sparse.indices().text(onnx::field<"TensorProto.name">) == "i");
    CHECK(sparse.dims() == std::vector<std::int64_t>{9, 2, 4});
}

TEST_CASE("sparse_tensor: absent parts are empty") {
    const LoadedModel loaded(blob(15, packed(3, {})));
    const model::SparseTensor sparse(*loaded.document, loaded.graph.sparse_initializer(0));
    CHECK(sparse.name().empty());
    CHECK(sparse.values().nbytes() == 0);
    CHECK(sparse.dims().empty());
}

TEST_CASE("sparse_tensor: the error for too many dimensions has the name or the path") {
    const Bytes many = packed(3, std::vector<std::uint64_t>(65, 1));
    CHECK(dims_of(packed(3, std::vector<std::uint64_t>(64, 1))).size() == 64);
    const auto named = error_of([&] { return dims_of(join(blob(1, raw_tensor("s", {})), many)); });
    REQUIRE(named);
    CHECK(named->code == "tensor.rank");
    CHECK(named->tensor == "s");
    const auto unnamed = error_of([&] { return dims_of(many); });
    REQUIRE(unnamed);
    CHECK(unnamed->tensor == "graph.sparse_initializer[0]");
}

TEST_CASE("sparse_tensor: the structure has the shape and the form of the indices") {
    const auto flat = structure_of_sparse(sparse(floats(2), linear({1, 5}), {2, 3}));
    CHECK(flat.dims == Numbers{2, 3});
    CHECK(flat.size == 6);
    CHECK(flat.count == 2);
    CHECK(flat.linear);
    const auto tuples = structure_of_sparse(sparse(floats(1), int64s({1, 2}, {1, 2}), {2, 3}));
    CHECK(tuples.count == 1);
    CHECK(!tuples.linear);
    CHECK(!structure_of_sparse(sparse(floats(1), int64s({1, 1}, {2}), {3})).linear);
    CHECK(structure_of_sparse(sparse(floats(0), linear({}), {4, 0, 5})).size == 0);
    CHECK(structure_of_sparse(sparse(floats(1), linear({0}), {})).size == 1);
}

TEST_CASE("sparse_tensor: checking the structure reads neither values nor indices") {
    const Bytes values = join(shape_of({1LL << 40}), scalar(2, kFloat));
    const Bytes indices = join(shape_of({1LL << 40}), scalar(2, kInt64));
    const Bytes bytes = sparse(values, indices, {1LL << 41});
    CHECK(structure_of_sparse(bytes).count == 1ULL << 40);
    CHECK(code_of([&] { return positions_of(bytes); }) == "tensor.data_size");
}

TEST_CASE("sparse_tensor: parts that do not agree") {
    const auto code = [](const Bytes& values, const Bytes& indices, const Numbers& dims) {
        return structure_code(sparse(values, indices, dims));
    };
    const auto typed = [](std::uint64_t type) { return join(shape_of({1}), scalar(2, type)); };
    CHECK(code(floats(1), linear({0}), {9}) == "accepted");
    CHECK(code(shape_of({1}), linear({0}), {9}) == "tensor.dtype");
    CHECK(code(typed(99), linear({0}), {9}) == "tensor.dtype");
    CHECK(code(floats(1), typed(99), {9}) == "tensor.dtype");
    CHECK(code(floats(1), typed(6), {9}) == "tensor.sparse_dtype");  // INT32
    CHECK(code(floats(1), shape_of({1}), {9}) == "tensor.sparse_dtype");
    CHECK(code(typed(24), linear({0}), {9}) == "tensor.sparse_dtype");  // FLOAT8E8M0 has no zero
    CHECK(code(floats(1), linear({0}), {-1}) == "tensor.negative_dim");
    CHECK(code(floats(1), linear({0}), {1LL << 32, 1LL << 32}) == "tensor.sparse_overflow");
    CHECK(code(floats(1), linear({0}), {0, 1LL << 32, 1LL << 32}) == "tensor.sparse_overflow");
    CHECK(code(floats(0), linear({}), {(1LL << 61) - 1}) == "accepted");
    CHECK(code(floats(0), linear({}), {1LL << 61}) == "tensor.sparse_overflow");  // 4 bytes each
    CHECK(code(join(scalar(2, kFloat)), linear({0}), {9}) == "tensor.sparse_rank");
    CHECK(code(join(shape_of({1, 1}), scalar(2, kFloat)), linear({0}), {9}) ==
          "tensor.sparse_rank");
    CHECK(code(floats(1), int64s({}, {0}), {9}) == "tensor.sparse_rank");
    CHECK(code(floats(1), int64s({1, 1, 1}, {0}), {9}) == "tensor.sparse_rank");
    CHECK(code(floats(1), int64s({1, 2}, {0, 0}), {9}) == "tensor.sparse_rank");
    CHECK(code(floats(1), int64s({1, 1}, {0}), {3, 3}) == "tensor.sparse_rank");
    CHECK(code(floats(2), linear({0}), {9}) == "tensor.sparse_count");
    CHECK(code(floats(1), int64s({2, 1}, {0, 1}), {9}) == "tensor.sparse_count");
    CHECK(code(Bytes{}, Bytes{}, {}) == "tensor.dtype");
}

TEST_CASE("sparse_tensor: errors of the structure have the numbers, and the name or path") {
    const auto bad = [](std::string_view name) {
        return error_of(
            [&] { return structure_of_sparse(sparse(floats(3, name), linear({0, 1}), {9})); });
    };
    REQUIRE(bad("s"));
    CHECK(says(*bad("s"), "sparse tensor 's': 3 values, but 2 indices"));
    CHECK(bad("s")->tensor == "s");
    REQUIRE(bad(""));
    CHECK(bad("")->tensor == "graph.sparse_initializer[0]");
    CHECK(says(*bad(""), "graph.sparse_initializer[0]"));
    const auto part = error_of([&] {
        return structure_of_sparse(sparse(floats(1), join(shape_of({-1}), scalar(2, 7)), {9}));
    });
    REQUIRE(part);
    CHECK(part->tensor == "graph.sparse_initializer[0].indices");
}

TEST_CASE("sparse_tensor: both forms of indices become positions") {
    CHECK(positions_of(sparse(floats(3), linear({0, 2, 5}), {2, 3})) == Numbers{0, 2, 5});
    CHECK(positions_of(sparse(floats(3), int64s({3, 2}, {0, 0, 0, 2, 1, 2}), {2, 3})) ==
          Numbers{0, 2, 5});
    CHECK(positions_of(sparse(floats(2), int64s({2, 3}, {0, 3, 1, 1, 0, 0}), {2, 4, 5})) ==
          Numbers{16, 20});
    CHECK(positions_of(sparse(floats(0), linear({}), {2, 3})).empty());
    CHECK(positions_of(sparse(floats(0), int64s({0, 2}, {}), {2, 0})).empty());
    CHECK(positions_of(sparse(floats(1), int64s({1, 0}, {}), {})) == Numbers{0});
    const Bytes typed = join(shape_of({2}), scalar(2, kInt64), packed(7, {3, 4}));
    CHECK(positions_of(sparse(floats(2), typed, {9})) == Numbers{3, 4});
}

TEST_CASE("sparse_tensor: an index outside the shape") {
    constexpr std::int64_t kLowest = INT64_MIN;
    const auto code = [](const Bytes& indices, const Numbers& dims, std::size_t count = 1) {
        return index_error(indices, dims, count).code;
    };
    CHECK(code(linear({9}), {9}) == "tensor.sparse_range");
    CHECK(code(linear({-1}), {9}) == "tensor.sparse_range");
    CHECK(code(linear({kLowest}), {9}) == "tensor.sparse_range");
    CHECK(code(linear({INT64_MAX}), {9}) == "tensor.sparse_range");
    CHECK(code(linear({-1, 1}), {9}, 2) == "tensor.sparse_range");
    CHECK(code(linear({1, 9}), {9}, 2) == "tensor.sparse_range");
    CHECK(code(linear({0}), {0}) == "tensor.sparse_range");
    CHECK(code(linear({1}), {}) == "tensor.sparse_range");
    CHECK(code(linear({12}), {3, 4}) == "tensor.sparse_range");
    // In the tensor, but not in the row.
    CHECK(code(int64s({1, 2}, {0, 4}), {3, 4}) == "tensor.sparse_range");
    CHECK(code(int64s({1, 2}, {1, -1}), {3, 4}) == "tensor.sparse_range");
    // 2^62 * 4 wraps to 0.
    CHECK(code(int64s({1, 2}, {1LL << 62, 0}), {4, 4}) == "tensor.sparse_range");
    // The last of many, and before the fault of order that precedes it.
    CHECK(code(linear({5, 1, 9}), {9}, 3) == "tensor.sparse_range");
    const Error error = index_error(int64s({2, 2}, {0, 0, 2, 7}), {3, 4}, 2);
    CHECK(says(error, "entry 1 has index 7, outside 0 to 3"));
}

TEST_CASE("sparse_tensor: indices that do not ascend") {
    const Error falls = index_error(linear({0, 3, 5, 4}), {9}, 4);
    CHECK(falls.code == "tensor.sparse_order");
    CHECK(says(falls, "entry 3 has index 4, but the entry before has 5"));
    const Error repeats = index_error(linear({3, 3}), {9}, 2);
    CHECK(repeats.code == "tensor.sparse_duplicate");
    CHECK(says(repeats, "entry 1 repeats index 3"));
    const Error rows = index_error(int64s({2, 2}, {2, 1, 1, 2}), {3, 3}, 2);
    CHECK(rows.code == "tensor.sparse_order");
    CHECK(says(rows, "entry 1 has index [1, 2], but the entry before has [2, 1]"));
    const Error pair = index_error(int64s({3, 2}, {0, 1, 1, 2, 1, 2}), {3, 3}, 3);
    CHECK(pair.code == "tensor.sparse_duplicate");
    CHECK(says(pair, "entry 2 repeats index [1, 2]"));
}

TEST_CASE("sparse_tensor: many indices without coordinates take no memory") {
    const Bytes values = join(shape_of({1LL << 50}), scalar(2, kFloat), blob(8, "s"));
    const Bytes bytes = sparse(values, int64s({1LL << 50, 0}, {}), {});
    CHECK(code_of([&] { return positions_of(bytes); }) == "tensor.sparse_duplicate");
}

TEST_CASE("sparse_tensor: a caller's buffer that changed after its structure was checked") {
    const auto read = [](const Bytes& indices) {
        return with_sparse(sparse(floats(2), indices, {9}), [](const auto& tensor) {
            return code_of([&] { return tensor.positions({{9}, 9, 2, true}); });
        });
    };
    CHECK(read(linear({0, 1})) == "accepted");
    CHECK(read(linear({0, 1, 2})) == "file.changed");
    CHECK(read(join(shape_of({2}), scalar(2, kFloat), blob(9, Bytes(8)))) == "file.changed");
}

}  // namespace onnxmap::test
