#include "model/sparse_tensor.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "caught.hpp"
#include "loaded_model.hpp"

namespace onnxmap::test {

namespace {

std::vector<std::int64_t> dims_of(const Bytes& sparse) {
    const LoadedModel loaded(blob(15, sparse));
    return model::SparseTensor(*loaded.document, loaded.graph.sparse_initializer(0)).dims();
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

}  // namespace onnxmap::test
