#include "model/graph.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "loaded_model.hpp"

namespace onnxmap::test {

namespace {

using Strings = std::vector<std::string>;

Bytes sparse(std::string_view name) {
    return join(blob(1, raw_tensor(name, {1, 2})), blob(2, raw_tensor("", {0, 1})), packed(3, {9}));
}

}  // namespace

TEST_CASE("graph: nodes have their names, op types, inputs and outputs") {
    const LoadedModel model(join(blob(1, join(blob(1, "x"), blob(1, ""), blob(1, "w"), blob(2, "y"),
                                              blob(3, "first"), blob(4, "Conv"))),
                                 blob(5, raw_tensor("w", {1})),
                                 blob(1, join(blob(4, "Relu"), blob(2, "a"), blob(2, "b")))));
    CHECK(model.graph.node_count() == 2);
    Strings seen;
    model.graph.for_each_node([&](const model::Node& node) {
        seen.push_back(std::string(node.name()) + ":" + std::string(node.op_type()));
        node.for_each_input(
            [&](std::string_view name) { seen.push_back("<" + std::string(name)); });
        node.for_each_output(
            [&](std::string_view name) { seen.push_back(">" + std::string(name)); });
    });
    CHECK(seen == Strings{"first:Conv", "<x", "<", "<w", ">y", ":Relu", ">a", ">b"});
}

TEST_CASE("graph: op types are counted, most frequent first, then in order of appearance") {
    const LoadedModel model(join(blob(1, node("Add")), blob(1, node("Relu")), blob(1, node("Mul")),
                                 blob(1, node("Relu")), blob(1, node("Mul"))));
    const auto counts = model.graph.op_counts();
    CHECK(counts == std::vector<std::pair<std::string_view, std::uint64_t>>{
                        {"Relu", 2}, {"Mul", 2}, {"Add", 1}});
    CHECK(LoadedModel(blob(2, "empty")).graph.op_counts().empty());
}

TEST_CASE("graph: repeated names of sparse initializers are treated like those of dense ones") {
    const LoadedModel model(join(blob(15, sparse("s")), blob(15, sparse("twice")),
                                 blob(15, sparse("")), blob(15, sparse("twice"))));
    const model::ListNames& names = model.graph.sparse_initializer_names();
    CHECK(names.count() == 2);
    CHECK(names.position("s") == 0U);
    CHECK_FALSE(names.position("t"));
    CHECK(code_of([&] { return names.position("twice"); }) == "model.duplicate_name");
}

TEST_CASE("graph: a document without a graph is refused") {
    CHECK(code_of([] {
              return LoadedModel(LoadedModel::whole(scalar(1, 10))).graph.node_count();
          }) == "model.no_graph");
}

}  // namespace onnxmap::test
