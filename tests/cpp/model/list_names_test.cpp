#include "model/list_names.hpp"

#include <doctest/doctest.h>

#include <string>

#include "caught.hpp"
#include "loaded_model.hpp"

namespace onnxmap::test {

namespace {

using onnx::field;

Bytes named_node(std::string_view name) { return blob(1, blob(3, name)); }

std::string message_of(const model::ListNames& names, std::string_view name) {
    const auto error = error_of([&] { return names.position(name); });
    REQUIRE(error);
    return error->what();
}

}  // namespace

TEST_CASE("list_names: the messages of every list with names are found by name") {
    const LoadedModel loaded(join(named_node("a"), named_node(""), named_node("b"),
                                  blob(11, blob(1, "x")), blob(12, blob(1, "y"))));
    const onnx::Message& graph = loaded.graph.fields()->message();
    const auto nodes = loaded.document->names(graph, field<"GraphProto.node">);
    CHECK(nodes->what() == "node");
    CHECK(nodes->count() == 2);
    CHECK(nodes->position("a") == 0U);
    CHECK(nodes->position("b") == 2U);
    CHECK_FALSE(nodes->position(""));
    CHECK_FALSE(nodes->position("c"));
    const auto inputs = loaded.document->names(graph, field<"GraphProto.input">);
    CHECK(inputs->what() == "input");
    CHECK(loaded.document->names(graph, field<"GraphProto.output">)->what() == "output");
    CHECK(loaded.document->names(graph, field<"GraphProto.value_info">)->what() == "value info");
    CHECK(inputs->position("x") == 0U);
    CHECK_FALSE(inputs->position("y"));
    CHECK(loaded.document->names(graph, field<"GraphProto.output">)->position("y") == 0U);
}

TEST_CASE("list_names: looking up a repeated name is an error that says what it names") {
    const LoadedModel loaded(join(named_node("twice"), named_node("once"), named_node("twice")));
    const auto names =
        loaded.document->names(loaded.graph.fields()->message(), field<"GraphProto.node">);
    CHECK(names->contains("twice"));
    CHECK(names->position("once") == 1U);
    CHECK(code_of([&] { return names->position("twice"); }) == "model.duplicate_name");
    CHECK(message_of(*names, "twice").find("more than one node is named 'twice'") !=
          std::string::npos);
}

TEST_CASE("list_names: the names of a large message are collected once") {
    Bytes nodes;
    for (int i = 0; i < 4000; ++i) append(nodes, named_node("node." + std::to_string(i)));
    const LoadedModel large(nodes);
    const auto names = [](const LoadedModel& model) {
        return model.document->names(model.graph.fields()->message(), field<"GraphProto.node">);
    };
    CHECK(names(large) == names(large));
    CHECK(names(large)->position("node.3999") == 3999U);
    const LoadedModel small(named_node("a"));
    CHECK(names(small) != names(small));
    CHECK(names(small)->position("a") == 0U);
}

TEST_CASE("list names: those that are most like a name, in the order of the list") {
    model::ListNames names("tensor", "", model::NameTable::Text::copied);
    for (const char* name : {"conv.bias", "head", "conv.weight", "", "x", "conv1.weight"}) {
        names.add(name);
    }
    using Names = std::vector<std::string_view>;
    CHECK(names.most_like("conv.weigth", 2) == Names{"conv.bias", "conv.weight"});
    CHECK(names.most_like("conv2.weight", 1) == Names{"conv1.weight"});
    CHECK(names.most_like("head", 1) == Names{"head"});
    CHECK(names.most_like("onv.", 1) == Names{"conv.bias"});  // the shortest that contains it
    CHECK(names.most_like("ead", 1) == Names{"head"});
    CHECK(names.most_like("", 9).size() == 5);
    CHECK(names.most_like("a", 0).empty());
}

}  // namespace onnxmap::test
