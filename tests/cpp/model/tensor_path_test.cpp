#include "model/tensor_path.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "memory_source.hpp"
#include "model/message_walk.hpp"
#include "onnx/schema.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

namespace {

using onnx::message;

std::unique_ptr<model::Document> load(const Bytes& bytes, const wire::MessageTable& root) {
    model::LoadOptions options;
    options.root = &root;
    return std::make_unique<model::Document>(std::make_shared<MemorySource>(bytes), options);
}

// Whether each tensor has the path that the walk over all tensors gives it. `count` gets the number
// of tensors.
bool agrees_with_walk(const Bytes& bytes, std::size_t& count,
                      const wire::MessageTable& root = message<"ModelProto">) {
    const auto document = load(bytes, root);
    bool same = true;
    count = 0;
    model::for_each_tensor(document->root(), document->limits().depth,
                           [&](const std::string& path, const onnx::Message& tensor) {
                               ++count;
                               same = same && model::tensor_path(*document, tensor.key()) == path;
                               if (!same) MESSAGE("differs: " << path);
                               same = same && !path.empty();
                           });
    return same;
}

Bytes empty_graph(std::size_t nodes) {
    Bytes bytes = blob(2, "g");
    for (std::size_t i = 0; i < nodes; ++i) append(bytes, blob(1, node("Op")));
    return bytes;
}

}  // namespace

TEST_CASE("tensor_path: finds the path of a tensor in every place") {
    const Bytes t = raw_tensor("", {1});
    const Bytes sparse = join(blob(1, t), blob(2, t));
    const Bytes subgraph = join(blob(2, "sub"), blob(5, t), blob(5, t));
    const Bytes op = node(
        "Op",
        {join(blob(1, "a"), blob(5, t), scalar(20, 4)),
         join(blob(1, "b"), blob(10, t), blob(10, t)), join(blob(1, "c"), blob(6, subgraph)),
         join(blob(1, "d"), blob(11, subgraph), blob(11, subgraph)),
         join(blob(1, "e"), blob(22, sparse)), join(blob(1, "f"), blob(23, sparse)), blob(5, t),
         join(blob(1, std::string(300, 'n')), blob(5, t)), join(blob(1, "a \"b\"\n"), blob(5, t))});
    const Bytes graph = join(blob(5, t), blob(1, op), blob(1, node("Relu")), blob(5, t),
                             blob(15, sparse), blob(1, op));
    const Bytes function = join(blob(7, op), blob(11, join(blob(1, "k"), blob(5, t))));
    const Bytes bytes = join(blob(7, graph), blob(25, function), blob(25, function),
                             blob(20, join(blob(1, blob(5, t)), blob(2, blob(5, t)))));
    std::size_t count = 0;
    CHECK(agrees_with_walk(bytes, count));
    CHECK(count == 4 * 16 + 2 + 2 + 2 + 2);
}

TEST_CASE("tensor_path: some paths in full") {
    const Bytes t = raw_tensor("", {1});
    const Bytes bytes =
        model(join(blob(1, node("Relu")), blob(5, t), blob(5, t),
                   blob(1, node("If", {attribute("then", 5, blob(6, blob(5, t)))}))));
    const auto document = load(bytes, message<"ModelProto">);
    std::vector<std::string> paths;
    model::for_each_tensor(document->root(), document->limits().depth,
                           [&](const std::string&, const onnx::Message& tensor) {
                               paths.push_back(model::tensor_path(*document, tensor.key()));
                           });
    CHECK(paths == std::vector<std::string>{R"(graph.node[1].attribute["then"].g.initializer[0])",
                                            "graph.initializer[0]", "graph.initializer[1]"});
}

TEST_CASE("tensor_path: empty tensors next to each other and at the end have different paths") {
    const Bytes none;
    std::size_t count = 0;
    CHECK(agrees_with_walk(
        blob(7, join(blob(5, none), blob(5, none), blob(1, node("Op")), blob(5, none))), count));
    CHECK(count == 3);
}

TEST_CASE("tensor_path: empty tensors in singular fields have paths") {
    const Bytes none;
    std::size_t count = 0;
    CHECK(agrees_with_walk(blob(7, blob(1, node("Op", {blob(5, none)}))), count));
    CHECK(count == 1);
    CHECK(
        agrees_with_walk(join(blob(1, none), blob(2, none)), count, message<"SparseTensorProto">));
    CHECK(count == 2);
}

TEST_CASE("tensor_path: messages that occur more than once are merged") {
    const Bytes t = raw_tensor("", {1});
    std::size_t count = 0;
    const Bytes graphs = join(blob(7, join(blob(5, t), blob(5, t))), blob(14, Bytes{}),
                              blob(7, Bytes{}), blob(7, join(blob(2, "g"), blob(5, t))));
    CHECK(agrees_with_walk(graphs, count));
    CHECK(count == 3);
    const Bytes subgraphs = join(blob(6, blob(5, t)), scalar(20, 5), blob(6, blob(5, t)));
    const Bytes twice = join(blob(5, t), blob(5, raw_tensor("n", {2})));
    CHECK(agrees_with_walk(
        model(blob(1, node("Op", {join(blob(1, "g"), subgraphs), join(blob(1, "t"), twice)}))),
        count));
    CHECK(count == 3);
    // Sparse tensors with merged parts.
    const Bytes sparse = join(blob(1, t), blob(1, scalar(1, 2)), blob(2, t));
    CHECK(agrees_with_walk(model(blob(15, sparse)), count));
    CHECK(count == 2);
}

TEST_CASE("tensor_path: large graphs use their index") {
    const Bytes t = raw_tensor("", {1});
    Bytes graph = empty_graph(2000);
    for (std::size_t i = 0; i < 300; ++i) {
        append(graph, blob(5, t));
        append(graph, blob(1, node("Constant", {attribute("value", 4, blob(5, t))})));
    }
    std::size_t count = 0;
    CHECK(agrees_with_walk(model(graph), count));
    CHECK(count == 600);
    // The graph as a subgraph, and in two parts.
    const Bytes inside = blob(1, node("If", {attribute("g", 5, blob(6, graph))}));
    CHECK(agrees_with_walk(join(blob(7, inside), blob(7, graph),
                                blob(25, blob(7, node("Op", {attribute("t", 4, blob(5, t))})))),
                           count));
    CHECK(count == 1201);
}

TEST_CASE("tensor_path: other messages than models have paths, too") {
    const Bytes t = raw_tensor("", {1});
    std::size_t count = 0;
    const Bytes sequence = join(blob(3, t), blob(3, t), blob(5, blob(3, t)),
                                blob(6, blob(5, blob(3, t))), blob(7, blob(3, t)));
    CHECK(agrees_with_walk(sequence, count, message<"SequenceProto">));
    CHECK(count == 5);
    // Here the whole file is the tensor, so the path is empty.
    const auto alone = load(t, message<"TensorProto">);
    CHECK(model::tensor_path(*alone, alone->root().key()).empty());
    // An address outside of all tensors.
    const auto other = load(model(blob(5, t)), message<"ModelProto">);
    CHECK(model::tensor_path(*other, other->source().data()).empty());
}

TEST_CASE("tensor_path: sparse tensors have paths") {
    const Bytes t = raw_tensor("", {1});
    const Bytes sparse = join(blob(1, t), blob(2, t));
    const auto document = load(
        model(join(blob(15, sparse), blob(1, node("C", {join(blob(1, "v"), blob(22, sparse))})),
                   blob(15, sparse))),
        message<"ModelProto">);
    std::vector<std::string> paths;
    const auto graph = *document->child(document->root(), onnx::field<"ModelProto.graph">);
    graph.for_each_value(
        onnx::field<"GraphProto.sparse_initializer">, [&](const wire::Field& value) {
            paths.push_back(model::sparse_tensor_path(*document, value.bytes.data()));
        });
    CHECK(paths ==
          std::vector<std::string>{"graph.sparse_initializer[0]", "graph.sparse_initializer[1]"});
}

TEST_CASE("tensor_path: an error has the path if the tensor has no name") {
    const Bytes t = raw_tensor("", {1});
    const auto document = load(model(join(blob(2, "g"), blob(5, t))), message<"ModelProto">);
    const std::uint8_t* begin = nullptr;
    model::for_each_tensor(
        document->root(), document->limits().depth,
        [&](const std::string&, const onnx::Message& tensor) { begin = tensor.key(); });
    Error fault("tensor.data_size", "its size is wrong");
    fault.offset = 7;
    fault.file = "a file";
    fault.location = "w.bin";
    const Error named = model::with_tensor_path(fault, *document, begin);
    CHECK(named.tensor == "graph.initializer[0]");
    CHECK(named.code == "tensor.data_size");
    CHECK(named.offset == 7);
    CHECK(named.file == "a file");
    CHECK(named.location == "w.bin");
    const std::string text = named.what();
    CHECK(text.find("graph.initializer[0]") != std::string::npos);
    CHECK(text.find("its size is wrong") != std::string::npos);
    // The error for a named tensor has the name.
    fault.tensor = std::string("w");
    CHECK(model::with_tensor_path(fault, *document, begin).tensor == "w");
    CHECK(std::string(model::with_tensor_path(fault, *document, begin).what()) ==
          "its size is wrong");
}

}  // namespace onnxmap::test
