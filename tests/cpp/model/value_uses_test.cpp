#include "model/value_uses.hpp"

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

// Each use as text: the node, the type of the user, the first output of a user that is a node, and
// the position. `-` stands for the graph itself.
std::vector<std::string> uses(const LoadedModel& model, std::string_view value) {
    std::vector<std::string> found;
    for (const model::Use& use : model.graph.uses().uses(value)) {
        std::string text = use.node == model::Use::kNone ? "-" : std::to_string(use.node);
        const onnx::Message user = model.graph.user(use);
        text += use.inner == model::Use::kNone ? " " : " inner ";
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

TEST_CASE("value_uses: producers and users of the values of a graph") {
    const LoadedModel model(join(node_of({"x", "", "w", "x"}, {"a", "", "b"}),
                                 node_of({"a"}, {"c"}), node_of({"c", "a"}, {"d"}), output("d"),
                                 output("a")));
    const model::ValueUses& values = model.graph.uses();
    CHECK(values.producer("a") == 0U);
    CHECK(values.producer("b") == 0U);
    CHECK(values.producer("d") == 2U);
    for (const auto name : {"x", "w", "", "nothing"}) CHECK_FALSE(values.producer(name));
    CHECK(uses(model, "x") == FoundUses{"0 a 0", "0 a 3"});
    CHECK(uses(model, "w") == FoundUses{"0 a 2"});
    CHECK(uses(model, "a") == FoundUses{"1 c 0", "2 d 1", "- graph 1"});
    CHECK(uses(model, "d") == FoundUses{"- graph 0"});
    for (const auto name : {"b", "", "nothing"}) CHECK(uses(model, name).empty());
    CHECK(values.topological_order() == NodeNumbers{0, 1, 2});
}

TEST_CASE("value_uses: the first user is that of the first use") {
    const Bytes inner = join(node_of({"a"}, {"deep"}), output("w"));
    const LoadedModel model(join(output("d"), node_of({"x"}, {"a"}, subgraph(inner)),
                                 node_of({"a", "w"}, {"d"}), output("a"), node_of({"d"}, {"e"})));
    for (const auto name : {"x", "a", "w", "d", "e", "deep", "", "nothing"}) {
        const auto uses = model.graph.uses().uses(name);
        const auto user = model.graph.first_user(name);
        REQUIRE(user.has_value() == !uses.empty());
        if (user) CHECK(user->is(model.graph.user(uses.front())));
    }
}

TEST_CASE("value_uses: subgraphs use the values around them, unless they have their own") {
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
        CHECK_FALSE(model.graph.uses().producer(own));
    }
}

TEST_CASE("value_uses: every form in which an attribute holds graphs") {
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

TEST_CASE("value_uses: nodes out of order are sorted, and otherwise stay where they are") {
    const LoadedModel late(join(node_of({"b"}, {"c"}), node_of({}, {"free"}), node_of({"a"}, {"b"}),
                                node_of({"x"}, {"a"}), node_of({"free"}, {"last"})));
    CHECK(late.graph.uses().topological_order() == NodeNumbers{1, 3, 2, 0, 4});
    const LoadedModel through_subgraph(
        join(node_of({}, {"z"}, subgraph(node_of({"a"}, {"inner"}))), node_of({}, {"a"})));
    CHECK(through_subgraph.graph.uses().topological_order() == NodeNumbers{1, 0});
    CHECK(LoadedModel(blob(2, "empty")).graph.uses().topological_order().empty());
}

TEST_CASE("value_uses: a circle is an error that names one of its nodes") {
    const LoadedModel circle(join(node_of({"x"}, {"start"}), node_of({"d", "start"}, {"b"}),
                                  node_of({"b"}, {"c"}), node_of({"c"}, {"d"}),
                                  node_of({"d"}, {"after"})));
    const auto error = error_of([&] { return circle.graph.uses().topological_order(); });
    REQUIRE(error);
    CHECK(error->code == "model.cycle");
    const bool on_circle = error->path == "graph.node[1]" || error->path == "graph.node[2]" ||
                           error->path == "graph.node[3]";
    CHECK(on_circle);
    const LoadedModel itself(node_of({"a"}, {"a"}));
    CHECK(code_of([&] { return itself.graph.uses().topological_order(); }) == "model.cycle");
    CHECK(uses(itself, "a") == FoundUses{"0 a 0"});
}

TEST_CASE("value_uses: a value that several nodes make has no producer, but is used") {
    const LoadedModel model(join(node_of({}, {"a"}), node_of({}, {"a"}), node_of({"a"}, {"b"})));
    const model::ValueUses& values = model.graph.uses();
    CHECK(code_of([&] { return values.producer("a"); }) == "model.duplicate_name");
    CHECK(code_of([&] { return values.topological_order(); }) == "model.duplicate_name");
    CHECK(values.producer("b") == 2U);
    CHECK(uses(model, "a") == FoundUses{"2 b 0"});
}

}  // namespace onnxmap::test
