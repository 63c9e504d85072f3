#include "model/message_walk.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "onnx/schema.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

namespace {

using onnx::message;
using Found = std::vector<std::pair<std::string, std::string>>;  // path and name

Found walk(const wire::MessageTable& table, const Bytes& bytes) {
    Found found;
    model::for_each_tensor(onnx::Message(table, bytes), wire::kDefaultDepth,
                           [&](const std::string& path, const onnx::Message& tensor) {
                               CHECK(&tensor.table() == &message<"TensorProto">);
                               found.emplace_back(path,
                                                  tensor.text(onnx::field<"TensorProto.name">));
                           });
    return found;
}

Bytes named(std::string_view name) { return blob(8, name); }

}  // namespace

TEST_CASE("message_walk: finds tensors in every place") {
    const Bytes sparse = join(blob(1, named("values")), blob(2, named("indices")));
    const Bytes subgraph = blob(5, named("inner"));
    const Bytes everything =
        node("Op", {join(blob(1, "a"), blob(5, named("t")), scalar(20, 1)),  // a wrong type
                    join(blob(1, "b"), blob(10, named("t0")), blob(10, named("t1"))),
                    join(blob(1, "c"), blob(6, subgraph)), join(blob(1, "d"), blob(11, subgraph)),
                    join(blob(1, "e"), blob(22, sparse)), join(blob(1, "f"), blob(23, sparse))});
    const Bytes graph = join(blob(5, named("w")), blob(1, everything), blob(15, sparse));
    const Bytes default_value = join(blob(1, "k"), blob(5, named("default")));
    const Bytes function =
        join(blob(7, node("F", {join(blob(1, "g"), blob(5, named("in function")))})),
             blob(11, default_value));
    const Bytes bytes =
        join(blob(7, graph), blob(25, function),
             blob(20, join(blob(1, blob(5, named("init"))), blob(2, blob(5, named("algorithm"))))));
    const std::string op = "graph.node[0].attribute";
    const Found expected = {
        {op + R"(["a"].t)", "t"},
        {op + R"(["b"].tensors[0])", "t0"},
        {op + R"(["b"].tensors[1])", "t1"},
        {op + R"(["c"].g.initializer[0])", "inner"},
        {op + R"(["d"].graphs[0].initializer[0])", "inner"},
        {op + R"(["e"].sparse_tensor.values)", "values"},
        {op + R"(["e"].sparse_tensor.indices)", "indices"},
        {op + R"(["f"].sparse_tensors[0].values)", "values"},
        {op + R"(["f"].sparse_tensors[0].indices)", "indices"},
        {"graph.initializer[0]", "w"},
        {"graph.sparse_initializer[0].values", "values"},
        {"graph.sparse_initializer[0].indices", "indices"},
        {"training_info[0].initialization.initializer[0]", "init"},
        {"training_info[0].algorithm.initializer[0]", "algorithm"},
        {R"(functions[0].attribute_proto["k"].t)", "default"},
        {R"(functions[0].node[0].attribute["g"].t)", "in function"},
    };
    CHECK(walk(message<"ModelProto">, bytes) == expected);
}

TEST_CASE("message_walk: finds tensors in other messages than models") {
    CHECK(walk(message<"TensorProto">, named("alone")) == Found{{"", "alone"}});
    const Bytes sequence =
        join(blob(3, named("a")), blob(5, blob(3, named("b"))),
             blob(6, blob(5, blob(3, named("c")))), blob(7, blob(3, named("d"))));
    CHECK(walk(message<"SequenceProto">, sequence) ==
          Found{{"tensor_values[0]", "a"},
                {"sequence_values[0].tensor_values[0]", "b"},
                {"map_values[0].values.tensor_values[0]", "c"},
                {"optional_values[0].tensor_value", "d"}});
    CHECK(walk(message<"NodeProto">, node("Relu")).empty());
}

TEST_CASE("message_walk: one graph or one tensor may be in pieces") {
    const Bytes bytes = join(blob(7, blob(5, named("x"))), blob(7, blob(5, named("y"))));
    CHECK(walk(message<"ModelProto">, bytes) ==
          Found{{"graph.initializer[0]", "x"}, {"graph.initializer[1]", "y"}});
    const Bytes twice = join(blob(5, named("old")), blob(5, named("new")));
    CHECK(walk(message<"AttributeProto">, twice) == Found{{"t", "new"}});
}

TEST_CASE("message_walk: finds nodes in every place, those of a subgraph after its node") {
    const Bytes subgraph = join(blob(1, node("Inner")), blob(1, node("Last")));
    const Bytes graph = join(blob(1, node("If", {join(blob(1, "then"), blob(6, subgraph)),
                                                 join(blob(1, "all"), blob(11, subgraph))})),
                             blob(1, node("After")));
    const Bytes bytes =
        join(blob(7, graph), blob(25, blob(7, node("In function"))),
             blob(20, join(blob(1, blob(1, node("Init"))), blob(2, blob(1, node("Step"))))));
    Found found;
    model::for_each_node(onnx::Message(message<"ModelProto">, bytes), wire::kDefaultDepth,
                         [&](const std::string& path, const onnx::Message& one) {
                             CHECK(&one.table() == &message<"NodeProto">);
                             found.emplace_back(path, one.text(onnx::field<"NodeProto.op_type">));
                         });
    const std::string attribute = "graph.node[0].attribute";
    CHECK(found == Found{{"graph.node[0]", "If"},
                         {attribute + R"(["then"].g.node[0])", "Inner"},
                         {attribute + R"(["then"].g.node[1])", "Last"},
                         {attribute + R"(["all"].graphs[0].node[0])", "Inner"},
                         {attribute + R"(["all"].graphs[0].node[1])", "Last"},
                         {"graph.node[1]", "After"},
                         {"training_info[0].initialization.node[0]", "Init"},
                         {"training_info[0].algorithm.node[0]", "Step"},
                         {"functions[0].node[0]", "In function"}});
}

TEST_CASE("message_walk: tells which tensors are in one list") {
    const Bytes t = named("t");
    const Bytes lists = node("Op", {join(blob(1, "same"), blob(10, t), blob(10, t)),
                                    join(blob(1, "same"), blob(10, t)), blob(5, t)});
    const Bytes graph =
        join(blob(5, t), blob(1, lists), blob(5, t), blob(15, join(blob(1, t), blob(2, t))),
             blob(1, node("If", {blob(6, join(blob(5, t), blob(5, t)))})));
    std::vector<std::uint64_t> found;
    model::for_each_listed_tensor(
        onnx::Message(message<"ModelProto">, join(blob(7, graph), blob(7, blob(5, t)))),
        wire::kDefaultDepth, [&](const std::string&, const onnx::Message&, std::uint64_t list) {
            found.push_back(list);
        });
    // First the attributes of the nodes, then three initializers from both parts of the graph.
    REQUIRE(found.size() == 11);
    CHECK(found[0] == found[1]);  // the tensors of one attribute
    CHECK(found[2] != found[0]);  // those of another attribute of the same name
    CHECK(found[3] == 0);         // t
    CHECK(found[4] == found[5]);  // the subgraph's initializers
    CHECK(found[6] == found[7]);
    CHECK(found[6] == found[8]);
    CHECK(found[9] == 0);  // values and indices
    CHECK(found[10] == 0);
    const std::set<std::uint64_t> numbers = {0, found[0], found[2], found[4], found[6]};
    CHECK(numbers.size() == 5);
}

TEST_CASE("message_walk: long names do not make paths of any length") {
    // Each name is short enough by itself, but there are many levels.
    Bytes graph = blob(5, named("deepest"));
    for (int level = 0; level < 20; ++level) {
        graph = blob(1, node("If", {join(blob(1, std::string(200, 'n')), blob(6, graph))}));
    }
    const Found found = walk(message<"GraphProto">, graph);
    REQUIRE(found.size() == 1);
    CHECK(found[0].first.size() < 20 * 40 + 1500);
    // The length that counts is that of the escaped name, as the path has it.
    const auto key = [](const std::string& name) { return model::path_key("", name, 3); };
    CHECK(key(std::string(200, 'n')) == "[\"" + std::string(200, 'n') + "\"]");
    CHECK(key(std::string(201, 'n')) == "[3]");
    CHECK(key(std::string(100, '"')) != "[3]");
    CHECK(key(std::string(101, '"')) == "[3]");
    CHECK(key("") == "[3]");
}

}  // namespace onnxmap::test
