#include "compare/model_difference.hpp"

#include <doctest/doctest.h>

#include "bulk_model.hpp"
#include "caught.hpp"
#include "compare/stored_bytes.hpp"
#include "loaded_model.hpp"
#include "os/parallel.hpp"
#include "sanitized.hpp"

namespace onnxmap::test {

namespace {

using compare::Differences;
using compare::Kind;
using DocumentPtr = std::shared_ptr<const model::Document>;

DocumentPtr in_memory(const Bytes& bytes) { return LoadedModel::whole(bytes); }
DocumentPtr of_graph(const Bytes& fields) { return in_memory(model(join(blob(2, "g"), fields))); }

Differences difference(const DocumentPtr& a, const DocumentPtr& b, unsigned threads = 1) {
    const os::WithThreadBudget budget({threads, nullptr});
    compare::ModelDifference found(a, b);
    std::atomic<std::uint64_t> done = 0;
    Differences result = found.finish(done);
    CHECK(done <= found.nbytes());  // what differs is found before all is read
    return result;
}

std::string shown(const compare::Change& change) {
    static constexpr std::string_view kSigns = "+->~";  // of each Kind
    const bool is_in_a = change.kind != Kind::added;
    const bool is_elsewhere = is_in_a && change.kind != Kind::removed && change.in_a != change.in_b;
    return kSigns[static_cast<std::size_t>(change.kind)] + (is_in_a ? change.in_a : change.in_b) +
           (is_elsewhere ? " = " + change.in_b : "");
}

std::string shown(const compare::Item& item) {
    std::string text =
        item.in_a.empty() ? "+" + item.in_b : (item.in_b.empty() ? "-" : "") + item.in_a;
    if (!item.in_a.empty() && !item.in_b.empty() && item.in_a != item.in_b)
        text += " = " + item.in_b;
    if (item.moved) text += " moved";
    for (const auto& change : item.changes) text += " " + shown(change);
    if (!item.tensor) return text;
    if (item.tensor->renamed) text += " renamed";
    if (!item.tensor->failure.empty()) text += " failure";
    const auto& elements = item.tensor->elements;
    if (elements)
        text += " " + std::to_string(elements->changed) + "/" + std::to_string(elements->count);
    return text;
}

// A sign and a path for each difference.
std::string shown(const Differences& found) {
    std::string text;
    for (const auto& [section, change] : found.changes) text += shown(change) + "; ";
    for (const auto& item : found.items) {
        if (item.is_difference()) text += shown(item) + "; ";
    }
    return text;
}

// A node with a name that uses and makes values.
Bytes named(std::string_view name, std::string_view op_type, std::string_view output = "y") {
    return blob(1, join(blob(2, output), blob(3, name), blob(4, op_type)));
}

Bytes weight(std::string_view name, const Bytes& content) {
    return blob(5, raw_tensor(name, content));
}

Bytes list_of(std::uint64_t number, const std::vector<Bytes>& parts) {
    Bytes bytes;
    for (const Bytes& part : parts) append(bytes, blob(number, part));
    return bytes;
}

// Counts the bytes that are read, and fails beyond an offset.
class CountedSource final : public MemorySource {
  public:
    using MemorySource::MemorySource;
    [[nodiscard]] bool viewable() const noexcept override { return false; }
    void read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
        if (offset > fails_from) throw Error("file.changed", "");
        nbytes += out.size();
        MemorySource::read(offset, out);
    }

    std::uint64_t fails_from = UINT64_MAX;
    mutable std::atomic<std::uint64_t> nbytes = 0;
};

struct Counted {
    std::shared_ptr<CountedSource> source;
    DocumentPtr document;
};

Counted counted(const Bytes& fields) {
    auto source = std::make_shared<CountedSource>(model(join(blob(2, "g"), fields)));
    model::LoadOptions options;
    options.root = &onnx::message<"ModelProto">;
    return {source, std::make_shared<const model::Document>(source, options)};
}

struct Case {
    const char* title;
    Bytes a;
    Bytes b;
    std::string expected;
};

}  // namespace

TEST_CASE("model difference: fields of the model") {
    const auto entry = [](std::string_view key, std::string_view text) {
        return blob(14, string_entry(key, text));
    };
    const Case cases[] = {
        {"identical but for values that are not there", varied_model(), varied_model(),
         "graph.initializer[2] failure; "},
        {"fields", join(scalar(1, 9), blob(6, "doc")), join(scalar(1, 10), blob(2, "p")),
         "~ir_version; +producer_name; -doc_string; "},
        {"the order of metadata", join(entry("a", "1"), entry("b", "2")),
         join(entry("b", "2"), entry("a", "1")), ""},
        {"entries", join(entry("a", "1"), entry("b", "2")), join(entry("b", "3"), entry("c", "4")),
         "-metadata_props[\"a\"]; ~metadata_props[\"b\"]; +metadata_props[\"c\"]; "},
        {"operator sets", blob(8, scalar(2, 20)), blob(8, scalar(2, 21)), "~opset_import[0]; "},
        {"a graph", {}, blob(7, Bytes{}), "+graph; "},
        {"unknown fields", scalar(999, 1), scalar(999, 2), "~unknown_fields; "},
        {"a function", blob(25, join(blob(1, "f"), blob(4, "x"))), blob(25, blob(1, "f")),
         "functions[\"f\"] ~input; "},
    };
    for (const Case& each : cases) {
        const std::string title = each.title;
        CAPTURE(title);
        CHECK(shown(difference(in_memory(each.a), in_memory(each.b))) == each.expected);
    }
}

TEST_CASE("model difference: parts of a graph") {
    const Bytes sub_a = blob(5, attribute("body", 5, blob(6, named("n", "A"))));
    const Bytes sub_b = blob(5, attribute("body", 5, blob(6, named("n", "B"))));
    const Bytes typed = blob(5, join(scalar(1, 2), scalar(2, 2), blob(8, "w"), packed(5, {1, 2})));
    const Bytes parts =
        join(blob(5, segment_tensor("w", 0, 1)), blob(5, segment_tensor("w", 1, 2)));
    const Case cases[] = {
        {"nodes in another order", join(named("a", "X"), named("b", "Y"), named("c", "Z")),
         join(named("b", "Y"), named("c", "Z"), named("a", "X")),
         "graph.node[0] = graph.node[2] moved; "},
        {"a node is inserted", join(named("a", "X"), named("c", "Z")),
         join(named("a", "X"), named("b", "Y"), named("c", "Z")), "+graph.node[1]; "},
        {"a node is edited and one is gone", join(named("a", "X"), named("b", "Y", "z")),
         named("a", "W"), "graph.node[0] ~op_type; -graph.node[1]; "},
        {"a node of a subgraph", blob(1, sub_a), blob(1, sub_b),
         "graph.node[0] ~attribute[\"body\"].g.node[0].op_type; "},
        {"inputs in another order", list_of(11, {blob(1, "a"), blob(1, "b"), blob(1, "c")}),
         list_of(11, {blob(1, "b"), blob(1, "c"), blob(1, "a")}), "graph.input[\"a\"] moved; "},
        {"weights in another order", join(weight("a", {1}), weight("b", {2})),
         join(weight("b", {2}), weight("a", {1})), ""},
        {"values", weight("w", {1, 2, 3}), weight("w", {1, 5, 5}), "graph.initializer[0] 2/3; "},
        {"one value in two forms", weight("w", {1, 2}), typed, ""},
        {"a tensor in segments", weight("w", {7, 7}), parts, ""},
        {"another shape", weight("w", {1}), weight("w", {1, 2}), "graph.initializer[0]; "},
        {"a renamed tensor", join(weight("a", {1, 2}), weight("x", {5, 5})),
         join(weight("y", {6, 6}), weight("b", {1, 2})),
         "graph.initializer[0] = graph.initializer[1] renamed; -graph.initializer[1]; "
         "+graph.initializer[0]; "},
        {"a tensor with a fault", weight("w", {1}),
         blob(5, join(scalar(1, 1), scalar(2, 2), blob(8, "w"))), "graph.initializer[0] failure; "},
    };
    for (const Case& each : cases) {
        const std::string title = each.title;
        CAPTURE(title);
        CHECK(shown(difference(of_graph(each.a), of_graph(each.b))) == each.expected);
    }
}

TEST_CASE("model difference: nodes in opposite order, and nodes that are alike" *
          doctest::skip(kThreadSanitized)) {
    constexpr std::uint32_t kNodes = kSanitized ? 5'000 : 20'000;
    Bytes forwards;
    Bytes backwards;
    for (std::uint32_t i = 0; i < kNodes; ++i) {
        append(forwards, named("", "Op", std::to_string(i)));
        append(backwards, named("", "Op", std::to_string(kNodes - 1 - i)));
    }
    Differences found = difference(of_graph(forwards), of_graph(backwards));
    CHECK(found.items.size() == kNodes - 1);
    CHECK(std::ranges::all_of(found.items, &compare::Item::moved));
    found = difference(of_graph(repeat(kNodes, named("n", "A"))),
                       of_graph(repeat(kNodes, named("n", "B"))));
    CHECK(found.items.size() == kNodes);
    CHECK(found.items.back().in_a == found.items.back().in_b);
}

TEST_CASE("model difference: the list of differences is bounded, and the rest is counted" *
          doctest::skip(kThreadSanitized)) {
    constexpr std::uint64_t kNodes = 400'000;
    const Differences found = difference(of_graph({}), of_graph(repeat(kNodes, blob(1, Bytes{}))));
    CHECK(found.items.size() + found.left_out == kNodes);
    CHECK(found.left_out > kNodes / 4);
    Bytes numbers;
    append(numbers, packed(8, std::vector<std::uint64_t>(compare::List::kMost + 1, 7)));
    const auto with = [](const Bytes& value) {
        return of_graph(blob(1, blob(5, join(blob(1, "a"), value, scalar(20, 7)))));
    };
    const Differences values = difference(with(numbers), with(packed(8, {7})));
    const auto& change = values.items.at(0).changes.at(0);
    CHECK(std::get<compare::List>(change.a).values.size() == compare::List::kMost);
    CHECK(std::get<compare::List>(change.a).cut);
    CHECK(std::get<compare::List>(change.b).values.size() == 1);
}

TEST_CASE("model difference: large tensors are compared by several threads") {
    Bytes fields;
    Bytes changed;
    for (std::uint32_t i = 0; i < 5; ++i) {
        const std::string name(1, static_cast<char>('a' + i));
        Bytes content = counting(1'500'000, i);
        append(fields, weight(name, content));
        content[i * 300'000] ^= static_cast<std::uint8_t>(i % 2);
        append(changed, weight(name, content));
    }
    for (const unsigned threads : {1U, 4U}) {
        CHECK(shown(difference(counted(fields).document, counted(changed).document, threads)) ==
              "graph.initializer[1] 1/1500000; graph.initializer[3] 1/1500000; ");
    }
    compare::ModelDifference same(counted(fields).document, of_graph(fields));
    std::atomic<std::uint64_t> done = 0;
    CHECK(shown(same.finish(done)).empty());
    CHECK(done == 5 * 1'500'000);
}

TEST_CASE("model difference: a tensor without a partner is read only if its samples have one") {
    Bytes content = counting(1'000'000, 1);
    const Counted a = counted(join(weight("a", counting(1'000'000, 0)), weight("b", content)));
    content[200'000] ^= 1;  // between two samples
    const Counted b = counted(join(weight("c", counting(1'000'000, 9)), weight("d", content)));
    a.source->nbytes = 0;
    CHECK(difference(a.document, b.document).items.size() == 4);
    CHECK(a.source->nbytes > 1'000'000);
    CHECK(a.source->nbytes < 1'010'000);
}

TEST_CASE("model difference: it ends early if it is stopped, and if a read fails") {
    const Counted a = counted(weight("w", counting(3'000'000)));
    const DocumentPtr b = of_graph(weight("w", counting(3'000'000)));
    a.source->fails_from = 1'000'000;
    CHECK(code_of([&] { return difference(a.document, b, 2); }) == "file.changed");
    const std::atomic<bool> stopped = true;
    const os::WithThreadBudget budget({2, &stopped});
    CHECK_THROWS_AS(compare::ModelDifference(a.document, b), os::Stopped);
}

TEST_CASE("stored bytes: one place is not read, and other places are compared") {
    const auto source =
        std::make_shared<CountedSource>(join(counting(3'000'000), counting(3'000'000)));
    const auto range = [&](std::uint64_t offset, std::uint64_t nbytes) {
        return tensor::Payload{source, offset, nbytes};
    };
    CHECK(compare::is_same_place(range(5, 9), range(5, 9)));
    CHECK_FALSE(compare::is_same_place(range(5, 9), range(6, 9)));
    CHECK(compare::equal_bytes(range(0, 3'000'000), range(3'000'000, 3'000'000)));
    CHECK_FALSE(compare::equal_bytes(range(0, 2'000'000), range(1, 2'000'000)));
    std::vector<compare::BytePair> pairs = {{range(0, 3'000'000), range(3'000'000, 3'000'000)},
                                            {range(0, 2'999'999), range(1, 2'999'999)}};
    std::atomic<std::uint64_t> done = 0;
    compare::compare_bytes(pairs, done);
    CHECK(pairs[0].equal);
    CHECK_FALSE(pairs[1].equal);
}

}  // namespace onnxmap::test
