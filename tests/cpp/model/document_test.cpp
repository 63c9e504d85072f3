#include "model/document.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "caught.hpp"
#include "memory_source.hpp"
#include "sample_models.hpp"

namespace onnxmap::test {

namespace {

using onnx::field;
using onnx::message;

struct Loaded {
    explicit Loaded(const Bytes& bytes, const wire::MessageTable& root = message<"ModelProto">,
                    model::LoadOptions options = {})
        : source(std::make_shared<MemorySource>(bytes)) {
        options.root = &root;
        document = std::make_unique<model::Document>(source, options);
    }

    [[nodiscard]] onnx::Message graph() const {
        return *document->child(document->root(), field<"ModelProto.graph">);
    }

    std::shared_ptr<MemorySource> source;
    std::unique_ptr<model::Document> document;
};

std::string verdict(const Bytes& bytes, const model::LoadOptions& options = {}) {
    return code_of([&] { return Loaded(bytes, message<"ModelProto">, options).source; });
}

Bytes many_nodes(std::size_t count) {
    Bytes bytes;
    for (std::size_t i = 0; i < count; ++i) append(bytes, blob(1, node("Op" + std::to_string(i))));
    return bytes;
}

std::string op_type(const model::Document& document, const onnx::Message& graph, std::uint64_t i) {
    const auto found = document.index(graph)->at(field<"GraphProto.node">, i);
    return std::string(
        onnx::Message(message<"NodeProto">, found.bytes).text(field<"NodeProto.op_type">));
}

}  // namespace

TEST_CASE("document: the options decide about verdict and limits") {
    CHECK(verdict(varied_model()) == "accepted");
    CHECK(verdict({}) == "accepted");  // protobuf accepts it; load demands more
    CHECK(verdict(from_hex("00")) == "wire.field_number");
    model::LoadOptions options;
    options.limits.depth = 2;
    CHECK(verdict(varied_model(), options) == "limit.depth");
    options = {};
    options.limits.tensors = 2;
    CHECK(verdict(varied_model(), options) == "limit.tensors");
    options = {};
    options.limits.pieces = 1;
    CHECK(verdict(join(blob(7, blob(2, "a")), blob(7, Bytes{})), options) == "accepted");
    CHECK(verdict(join(blob(7, blob(2, "a")), blob(7, blob(2, "b"))), options) == "limit.pieces");
    const Bytes cut_run = blob(7, blob(5, blob(7, from_hex("80"))));
    CHECK(verdict(cut_run) == "wire.truncated");
    options = {};
    options.scan_packed = false;
    CHECK(verdict(cut_run, options) == "accepted");
}

TEST_CASE("document: small and large graphs give the same answers") {
    for (const std::size_t count : {1UL, 5UL, 3000UL}) {
        const Loaded loaded(model(join(blob(2, "first"), many_nodes(count), blob(2, "g"))));
        const onnx::Message graph = loaded.graph();
        CHECK(model::Document::is_large(graph) == (count == 3000));
        CHECK(loaded.document->index(graph)->count(field<"GraphProto.node">) == count);
        CHECK(op_type(*loaded.document, graph, count - 1) == "Op" + std::to_string(count - 1));
        const auto name = loaded.document->find(graph, field<"GraphProto.name">);
        REQUIRE(name);
        CHECK(name->text() == "g");
        CHECK_FALSE(loaded.document->find(graph, field<"GraphProto.doc_string">));
    }
}

TEST_CASE("document: the index of a large message is made once") {
    const Loaded loaded(model(many_nodes(3000)));
    CHECK(loaded.document->index(loaded.graph()) == loaded.document->index(loaded.graph()));
    CHECK(loaded.document->index(loaded.document->root()) ==
          loaded.document->index(loaded.document->root()));
}

TEST_CASE("document: graph fields that repeat are one graph") {
    const Bytes bytes = join(blob(7, many_nodes(4000)), scalar(1, 8), blob(7, Bytes{}),
                             blob(7, join(blob(1, node("Last")), blob(2, "g"))));
    const Loaded loaded(bytes);
    REQUIRE(model::Document::is_large(loaded.document->root()));
    const onnx::Message graph = loaded.graph();
    CHECK(graph.pieces()->occurrences().size() == 2);
    CHECK(loaded.document->index(graph)->count(field<"GraphProto.node">) == 4001);
    CHECK(op_type(*loaded.document, graph, 0) == "Op0");
    CHECK(op_type(*loaded.document, graph, 4000) == "Last");
    CHECK(loaded.document->find(graph, field<"GraphProto.name">)->text() == "g");
}

TEST_CASE("document: large subgraphs have an index of their own") {
    const Bytes subgraph = many_nodes(4000);
    const Bytes graph =
        join(blob(1, node("If", {attribute("then_branch", 5, blob(6, subgraph)),
                                 attribute("else_branch", 5, blob(6, many_nodes(3500)))})),
             many_nodes(3));
    const Loaded loaded(model(graph));
    const model::Document& document = *loaded.document;
    const auto if_node = document.index(loaded.graph())->at(field<"GraphProto.node">, 0);
    std::vector<std::uint64_t> counts;
    onnx::Message(message<"NodeProto">, if_node.bytes)
        .for_each_value(field<"NodeProto.attribute">, [&](const wire::Field& value) {
            const onnx::Message parent(message<"AttributeProto">, value.bytes);
            const auto branch = document.child(parent, field<"AttributeProto.g">);
            REQUIRE(branch);
            CHECK(model::Document::is_large(*branch));
            CHECK(document.index(*branch) == document.index(*branch));
            counts.push_back(document.index(*branch)->count(field<"GraphProto.node">));
            CHECK(op_type(document, *branch, 100) == "Op100");
        });
    CHECK(counts == std::vector<std::uint64_t>{4000, 3500});
    CHECK(document.index(loaded.graph())->count(field<"GraphProto.node">) == 4);
}

TEST_CASE("document: an index and a walk find the same fields of a large message") {
    const Bytes padding(50'000, 'd');
    const Bytes type =
        join(blob(1, scalar(1, 1)), blob(4, Bytes{}), blob(6, padding), blob(1, blob(2, Bytes{})));
    const Loaded loaded(type, message<"TypeProto">);
    const auto& root = loaded.document->root();
    REQUIRE(model::Document::is_large(root));
    for (const wire::FieldRow& row : root.table().fields) {
        CAPTURE(std::string(row.name));
        CHECK(loaded.document->find(root, row).has_value() == root.find(row).has_value());
        if (!row.is_message()) continue;
        const auto by_document = loaded.document->child(root, row);
        const auto by_walk = root.child(row);
        REQUIRE(by_document.has_value() == by_walk.has_value());
        if (by_walk) CHECK(by_document->nbytes() == by_walk->nbytes());
    }
}

TEST_CASE("document: large tensors whose data_location the enum does not list") {
    // The load pass and a walk over the fields must agree on which fields are unknown.
    const Bytes tensor = join(scalar(14, 1), blob(12, Bytes(50'000, 'd')), scalar(14, 7));
    const Loaded loaded(tensor, message<"TensorProto">);
    const auto& root = loaded.document->root();
    REQUIRE(model::Document::is_large(root));
    CHECK(code_of([&] {
              return loaded.document->find(root, field<"TensorProto.data_location">);
          }) == "accepted");
}

}  // namespace onnxmap::test
