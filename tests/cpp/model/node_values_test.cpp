#include "model/node_values.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "caught.hpp"
#include "loaded_model.hpp"

namespace onnxmap::test {

namespace {

using ValueNames = std::vector<std::string_view>;
using NodeNumbers = std::vector<std::uint32_t>;

Bytes node_of(const ValueNames& inputs, const ValueNames& outputs, const Bytes& attributes = {}) {
    return blob(1, operation(inputs, outputs, attributes));
}

Bytes subgraph(const Bytes& fields) {
    return blob(5, join(blob(1, "body"), blob(6, fields), scalar(20, 5)));
}

Bytes output(std::string_view name) { return blob(12, blob(1, name)); }

// The position of a node of the graph, by its key.
std::optional<std::uint64_t> position(const LoadedModel& model, const std::uint8_t* node) {
    return model.graph.fields()->ordinal(onnx::field<"GraphProto.node">, node);
}

std::optional<std::uint64_t> producer(const LoadedModel& model, std::string_view value) {
    const auto node = model.graph.producer(value);
    return node ? position(model, node->key()) : std::nullopt;
}

// Each use as text: the node, the type of the user, the first output of a user that is a node, and
// the position. `-` stands for the graph itself.
std::vector<std::string> uses(const LoadedModel& model, std::string_view value) {
    std::vector<std::string> found;
    for (const model::UserOfValue& use : model.graph.users(value)) {
        const bool is_output = use.holder == nullptr;
        std::string text = is_output ? "-" : std::to_string(position(model, use.holder).value());
        const onnx::Message& user = use.message;
        text += is_output || user.key() == use.holder ? " " : " inner ";
        if (model::is_node(user)) {
            std::string_view first;
            model::Node(user).for_each_output([&](std::string_view name) {
                if (first.empty()) first = name;
            });
            text += first;
        } else {
            text += "graph";
        }
        found.push_back(text + " " + std::to_string(use.index));
    }
    return found;
}

using FoundUses = std::vector<std::string>;

}  // namespace

TEST_CASE("node_values: producers and users of the values of a graph") {
    const LoadedModel model(join(node_of({"x", "", "w", "x"}, {"a", "", "b"}),
                                 node_of({"a"}, {"c"}), node_of({"c", "a"}, {"d"}), output("d"),
                                 output("a")));
    CHECK(producer(model, "a") == 0U);
    CHECK(producer(model, "b") == 0U);
    CHECK(producer(model, "d") == 2U);
    for (const auto name : {"x", "w", "", "nothing"}) CHECK_FALSE(producer(model, name));
    CHECK(uses(model, "x") == FoundUses{"0 a 0", "0 a 3"});
    CHECK(uses(model, "w") == FoundUses{"0 a 2"});
    CHECK(uses(model, "a") == FoundUses{"1 c 0", "2 d 1", "- graph 1"});
    CHECK(uses(model, "d") == FoundUses{"- graph 0"});
    for (const auto name : {"b", "", "nothing"}) CHECK(uses(model, name).empty());
    CHECK(model.graph.topological_order() == NodeNumbers{0, 1, 2});
}

TEST_CASE("node_values: subgraphs use the values around them, unless they have their own") {
    const Bytes inner = join(node_of({"a", "mine", "w"}, {"deep"}), output("x"), output("mine"));
    const Bytes body = join(
        node_of({"x", "own"}, {"own"}), blob(11, blob(1, "w")), blob(5, raw_tensor("held", {1})),
        node_of({"held"}, {"e"}, subgraph(inner)), blob(15, blob(1, raw_tensor("sparse", {1}))),
        node_of({"sparse"}, {"f"}), node_of({"a"}, {"mine"}), output("a"));
    const LoadedModel model(
        join(node_of({"x"}, {"a"}), node_of({"a"}, {"z"}, subgraph(body)), output("z")));
    CHECK(uses(model, "a") ==
          FoundUses{"1 z 0", "1 inner deep 0", "1 inner mine 0", "1 inner graph 0"});
    CHECK(uses(model, "x") == FoundUses{"0 a 0", "1 inner own 0", "1 inner graph 0"});
    for (const auto own : {"own", "w", "held", "sparse", "mine", "deep"}) {
        CAPTURE(own);
        CHECK(uses(model, own).empty());
        CHECK_FALSE(model.graph.producer(own));
    }
}

TEST_CASE("node_values: every form in which an attribute holds graphs") {
    const Bytes several = join(blob(1, "bodies"), blob(11, node_of({"a"}, {"p"})),
                               blob(11, node_of({"b", "a"}, {"q"})), scalar(20, 10));
    const Bytes in_two_parts = join(blob(1, "body"), blob(6, node_of({"a"}, {"r"})),
                                    blob(6, node_of({"r"}, {"s"})), scalar(20, 5));
    const Bytes refers =
        join(blob(1, "other"), blob(6, node_of({"a"}, {"t"})), blob(21, "of function"));
    const LoadedModel model(
        node_of({}, {"z"}, join(blob(5, several), blob(5, in_two_parts), blob(5, refers))));
    CHECK(uses(model, "a") == FoundUses{"0 inner p 0", "0 inner q 1", "0 inner r 0"});
    CHECK(uses(model, "r").empty());
}

TEST_CASE("node_values: nodes out of order are sorted, and otherwise stay where they are") {
    const LoadedModel late(join(node_of({"b"}, {"c"}), node_of({}, {"free"}), node_of({"a"}, {"b"}),
                                node_of({"x"}, {"a"}), node_of({"free"}, {"last"})));
    CHECK(late.graph.topological_order() == NodeNumbers{1, 3, 2, 0, 4});
    const LoadedModel through_subgraph(
        join(node_of({}, {"z"}, subgraph(node_of({"a"}, {"inner"}))), node_of({}, {"a"})));
    CHECK(through_subgraph.graph.topological_order() == NodeNumbers{1, 0});
    CHECK(LoadedModel(blob(2, "empty")).graph.topological_order().empty());
}

TEST_CASE("node_values: a circle is an error that names one of its nodes") {
    const LoadedModel circle(join(node_of({"x"}, {"start"}), node_of({"d", "start"}, {"b"}),
                                  node_of({"b"}, {"c"}), node_of({"c"}, {"d"}),
                                  node_of({"d"}, {"after"})));
    const auto error = error_of([&] { return circle.graph.topological_order(); });
    REQUIRE(error);
    CHECK(error->code == "model.cycle");
    const bool on_circle = error->path == "graph.node[1]" || error->path == "graph.node[2]" ||
                           error->path == "graph.node[3]";
    CHECK(on_circle);
    const LoadedModel itself(node_of({"a"}, {"a"}));
    CHECK(code_of([&] { return itself.graph.topological_order(); }) == "model.cycle");
    CHECK(uses(itself, "a") == FoundUses{"0 a 0"});
}

TEST_CASE("node_values: a value that several nodes make has no producer, but is used") {
    const LoadedModel model(join(node_of({}, {"a"}), node_of({}, {"a"}), node_of({"a"}, {"b"})));
    CHECK(code_of([&] { return model.graph.producer("a"); }) == "model.duplicate_name");
    CHECK(code_of([&] { return model.graph.topological_order(); }) == "model.duplicate_name");
    CHECK(producer(model, "b") == 2U);
    CHECK(uses(model, "a") == FoundUses{"2 b 0"});
}

}  // namespace onnxmap::test
