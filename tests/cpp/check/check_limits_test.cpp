#include <doctest/doctest.h>

#include <atomic>

#include "caught.hpp"
#include "check/checked.hpp"
#include "check/visible_values.hpp"
#include "os/parallel.hpp"
#include "sanitized.hpp"
#include "source/source.hpp"

namespace onnxmap::test {

namespace {

using check::FieldPath;
using check::Findings;
using check::Rule;
using check::VisibleValues;

constexpr std::uint32_t kNodes = 5000;  // more than the batches that threads take ahead

// Each node uses what the one before it makes, and a name that nothing defines. Every third has the
// name of another, every fifth has a last input without a name, and every seventh makes the value
// of the one before it again, so the next one uses a value that nothing defines.
Bytes large_graph(std::uint32_t count) {
    Bytes graph = blob(2, "g");
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::string before = "v" + std::to_string(i == 0 ? 0 : i - 1);
        const std::string made = i % 7 == 6 ? before : "v" + std::to_string(i);
        const Bytes name = i % 3 == 0 ? blob(3, "n") : Bytes{};
        const Bytes empty = i % 5 == 0 ? blob(1, "") : Bytes{};
        append(graph, blob(1, op({before, "q" + std::to_string(i)}, {made}, join(name, empty))));
    }
    return model(graph);
}

Findings found_by(unsigned threads, const model::Document& document, std::uint64_t most,
                  const std::atomic<bool>* stopped = nullptr) {
    const os::WithThreadBudget budget({threads, stopped});
    return check::check(document, every_rule(most));
}

}  // namespace

TEST_CASE("check limits: findings beyond the limit are counted and make no sentence") {
    const FieldPath root{nullptr, nullptr};
    check::Options options = every_rule(2);
    options.wanted[static_cast<std::size_t>(Rule::graph_name)] = false;
    Findings all(options.wanted, options.most);
    Findings part = all.empty_copy();
    int sentences = 0;
    const auto sentence = [&] { return std::to_string(++sentences); };
    part.add(Rule::node_domain, root, sentence);
    for (int i = 0; i < 5; ++i) all.add(Rule::node_outputs, root, sentence);
    for (int i = 0; i < 5; ++i) part.add(Rule::node_outputs, root, sentence);
    part.add(Rule::graph_name, root, sentence);
    CHECK(sentences == 1 + 2 + 2);
    all.take(part);
    CHECK(shown(all) == "node.outputs @ ; node.outputs @ ; node.domain @ ; ");
    CHECK(all.found().front().message == "2");
    CHECK(count_of(all, Rule::node_outputs) == 10);
    CHECK(count_of(all, Rule::graph_name) == 0);
    CHECK(part.found().empty());
    CHECK(count_of(part, Rule::node_outputs) == 0);
}

TEST_CASE("check limits: a kept path outlives the functions that entered it") {
    check::KeptFieldPaths kept;
    const FieldPath* copy = nullptr;
    {
        const FieldPath graph{nullptr, &onnx::field<"ModelProto.graph">};
        const FieldPath node{&graph, &onnx::field<"GraphProto.node">, 3};
        copy = kept.keep(node);
        CHECK(kept.keep(node) == copy);
        const FieldPath other{&graph, &onnx::field<"GraphProto.node">, 4};
        CHECK(kept.keep(other)->parent == copy->parent);
    }
    CHECK(copy->text() == "graph.node[3]");
}

TEST_CASE("check limits: names are visible in the graphs where they are defined") {
    VisibleValues visible;
    visible.enter(false, false);
    const auto outer = visible.id("outer");
    visible.mark(outer, VisibleValues::is_made);
    visible.enter(true, false);
    CHECK(visible.is_from_outside(outer));
    visible.mark(outer, VisibleValues::is_described);
    CHECK(visible.is_visible(outer));
    visible.mark(outer, VisibleValues::is_input);
    CHECK_FALSE(visible.is_from_outside(outer));
    visible.enter(false, false);  // a function sees nothing outside
    CHECK_FALSE(visible.is_visible(outer));
    visible.leave();
    visible.leave();
    CHECK(visible.here(outer) == VisibleValues::is_made);
    CHECK(visible.id("outer") == outer);
}

// A pass over all elements for each of them would take longer than a test may.
TEST_CASE("check limits: hostile lists of many elements" * doctest::skip(kThreadSanitized)) {
    constexpr std::uint32_t kCount = kSanitized ? 10'000 : 50'000;
    Bytes attributes;
    Bytes functions = tiny_model();
    for (std::uint32_t i = 0; i < kCount; ++i) {
        const Bytes name = blob(1, "f" + std::to_string(i));
        append(attributes, join(name, blob(5, join(name, scalar(3, 1), scalar(20, 2)))));
        const Bytes next = blob(4, "f" + std::to_string((i + 1) % kCount));
        append(functions, blob(25, join(name, blob(7, join(next, blob(2, "y"))))));
    }
    const struct {
        Bytes model;
        Rule rule;
        std::uint64_t times;
    } cases[] = {
        {large_graph(kCount), Rule::value_undefined, kCount + kCount / 7},
        {large_graph(kCount), Rule::value_repeated, kCount / 7},
        {large_graph(kCount), Rule::node_name_repeated, (kCount - 1) / 3},
        {large_graph(kCount), Rule::node_trailing_empty, kCount / 5},
        {model(graph_with({op({}, {"y"}, attributes)})), Rule::node_attribute_name, kCount},
        {model(repeat(kCount, blob(5, raw_tensor("w", {})))), Rule::graph_initializer_repeated,
         kCount - 1},
        {functions, Rule::function_recursion, 1},
    };
    for (const auto& each : cases) {
        CAPTURE(check::info(each.rule).name);
        const Findings found = found_by(1, *loaded(each.model), 10);
        CHECK(count_of(found, each.rule) == each.times);
        CHECK(found.found().size() <= 10 * check::rules().size());
    }
}

TEST_CASE("check limits: any number of threads finds the same in the same order") {
    const auto document = loaded(large_graph(kNodes));
    const Findings one = found_by(1, *document, 100'000);
    const Findings several = found_by(4, *document, 100'000);
    CHECK(one.found().size() > kNodes);
    CHECK(shown(one) == shown(several));
    CHECK(one.counts() == several.counts());
}

TEST_CASE("check limits: a check that is stopped ends early") {
    const std::atomic<bool> stopped = true;
    const auto document = loaded(large_graph(kNodes));
    CHECK_THROWS_AS(std::ignore = found_by(2, *document, 1, &stopped), os::Stopped);
}

TEST_CASE("check limits: nesting to the limit of depth") {
    // Each level is a node, an attribute and a graph.
    constexpr std::size_t kLevels = 30;
    std::vector<std::uint64_t> numbers = {7};
    for (std::size_t i = 0; i < kLevels; ++i) {
        numbers.insert(numbers.end(), {1, 5, 6});
    }
    const Bytes deepest = nested(numbers, blob(1, op({"q"}, {})));
    const auto depth = static_cast<std::uint32_t>(numbers.size() + 1);
    const Findings found = found_by(1, *loaded(deepest, depth), 1000);
    CHECK(count_of(found, Rule::value_undefined) == 1);
    CHECK(count_of(found, Rule::graph_name) == kLevels + 1);
    CHECK(code_of([&] { return loaded(deepest, depth - 1); }) == "limit.depth");
}

TEST_CASE("check limits: a file that changed is an error") {
    class Changed final : public MemorySource {
      public:
        using MemorySource::MemorySource;
        mutable int looks = 0;

      private:
        void check_for_changes() const override {
            if (++looks > 1) throw Error("file.changed", "");
        }
    };
    model::LoadOptions options;
    options.root = &onnx::message<"ModelProto">;
    const auto source = std::make_shared<Changed>(tiny_model());
    const model::Document document(source, options);
    source->looks = 0;
    CHECK(code_of([&] { return check::check(document, every_rule()); }) == "file.changed");
    CHECK(source->looks == 2);
}

}  // namespace onnxmap::test
