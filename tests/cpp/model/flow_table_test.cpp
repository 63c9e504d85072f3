// Which values nodes use and make, and what follows from their order.
#include "model/flow_table.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "caught.hpp"
#include "loaded_model.hpp"

namespace onnxmap::test {

namespace {

using model::FlowTable;
using Names = std::vector<std::string_view>;
using NodeNumbers = std::vector<std::uint32_t>;

// The names are views of the model.
struct ReadNodes : LoadedModel, FlowTable {
    explicit ReadNodes(const std::vector<Bytes>& nodes) : LoadedModel(graph_with(nodes)) {
        read(*graph.fields(), [](const FlowTable::Node& node, const Use& use) {
            CHECK(node.op_type == "Op");
            if (node.holds_graphs) node.find_captured(use, 10);
        });
    }
};

// The nodes that depend on a value.
NodeNumbers reached(const FlowTable& flow, std::string_view value) {
    FlowTable::Marks marks(flow.name_count());
    marks[flow.find(value).value()] = 1;
    const FlowTable::Marks nodes = flow.spread(marks, FlowTable::Marks(flow.element_count()));
    NodeNumbers found;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i] == 0) continue;
        found.push_back(i);
        flow.for_each_made(i, [&](std::uint32_t made) { CHECK(marks[made] == 1); });
    }
    return found;
}

}  // namespace

TEST_CASE("flow_table: nodes in order") {
    const ReadNodes flow({operation({"x", ""}, {"a", "b"}), operation({}, {}),
                          operation({"a", "w", "a"}, {"c"}), operation({"w"}, {"d"})});
    CHECK(flow.is_sorted());
    CHECK(flow.element_count() == 4);
    CHECK(flow.name_count() == 6);
    Names used;
    flow.for_each_used(2, [&](std::uint32_t value) { used.push_back(flow.name(value)); });
    CHECK(used == Names{"a", "w", "a"});
    CHECK(flow.maker(*flow.find("b")) == 0);
    CHECK(flow.maker(*flow.find("w")) == FlowTable::kNone);
    CHECK(reached(flow, "x") == NodeNumbers{0, 2});
    CHECK(reached(flow, "w") == NodeNumbers{2, 3});
    CHECK(flow.order().nodes == NodeNumbers{0, 1, 2, 3});
    FlowTable::Marks values(flow.name_count());
    values[*flow.find("x")] = 1;
    std::ignore = flow.spread(values, FlowTable::Marks{1, 0, 0, 0});  // its only user stops it
    CHECK(values[*flow.find("a")] == 0);
}

TEST_CASE("flow_table: nodes in any order") {
    const ReadNodes flow({operation({"c"}, {"d"}), operation({"b"}, {"c"}), operation({"v"}, {"e"}),
                          operation({"a", "b"}, {"f"}), operation({"x"}, {"a", "b"})});
    CHECK_FALSE(flow.is_sorted());
    CHECK(reached(flow, "x") == NodeNumbers{0, 1, 3, 4});
    CHECK(reached(flow, "v") == NodeNumbers{2});
    CHECK(flow.order().nodes == NodeNumbers{2, 4, 1, 0, 3});
}

TEST_CASE("flow_table: many nodes, which threads read in batches") {
    constexpr std::uint32_t kCount = 3000;
    const auto value = [](std::uint32_t i) { return "v" + std::to_string(i); };
    std::vector<Bytes> nodes;
    for (std::uint32_t i = kCount; i-- > 0;)  // from the last to the first
        nodes.push_back(operation({value(i), "w"}, {value(i + 1)}));
    const ReadNodes flow(nodes);
    CHECK_FALSE(flow.is_sorted());
    CHECK(flow.name_count() == kCount + 2);
    NodeNumbers backwards;
    for (std::uint32_t i = 0; i < kCount; ++i) {
        CHECK(flow.maker(*flow.find(value(kCount - i))) == i);
        Names used;
        flow.for_each_used(i, [&](std::uint32_t each) { used.push_back(flow.name(each)); });
        CHECK(used == Names{value(kCount - 1 - i), "w"});
        backwards.insert(backwards.begin(), i);
    }
    CHECK(flow.order().nodes == backwards);
    CHECK(reached(flow, value(1)).size() == kCount - 1);
    CHECK(reached(flow, "w").size() == kCount);
}

TEST_CASE("flow_table: a node that uses its own output, wherever the file has it") {
    for (const Bytes& own :
         {operation({"a"}, {"a"}), join(operation({}, {"a"}), operation({"a"}, {})),
          operation({}, {"a"},
                    blob(5, attribute("g", 5, blob(6, graph_with({operation({"a"}, {"z"})})))))}) {
        const ReadNodes flow({own});
        CHECK_FALSE(flow.is_sorted());
        CHECK(flow.order().in_cycle == 0);
    }
}

TEST_CASE("flow_table: subgraphs use values around them") {
    const Bytes body = graph_with({operation({"a"}, {"inner"}), operation({"inner"}, {"z"})});
    const ReadNodes flow({operation({}, {"y"}, blob(5, attribute("body", 5, blob(6, body)))),
                          operation({"x"}, {"a"})});
    CHECK_FALSE(flow.is_sorted());
    CHECK_FALSE(flow.find("inner"));
    CHECK(reached(flow, "x") == NodeNumbers{0, 1});
    CHECK(flow.order().nodes == NodeNumbers{1, 0});
}

TEST_CASE("flow_table: several nodes make one value") {
    const ReadNodes flow({operation({"x"}, {"a"}), operation({"v"}, {"a"})});
    CHECK_FALSE(flow.is_sorted());
    CHECK(code_of([&] { flow.check_makers(); }) == "model.duplicate_name");
    CHECK(code_of([&] { static_cast<void>(flow.order()); }) == "model.duplicate_name");
    CHECK(reached(flow, "v") == NodeNumbers{1});
}

}  // namespace onnxmap::test
