#include "model/rename.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "caught.hpp"
#include "edited_document.hpp"
#include "loaded_model.hpp"

namespace onnxmap::test {

namespace {

using onnx::field;
using RenamedNames = std::vector<model::Renaming::Names>;

constexpr auto kInitializersOnly = model::Renaming::Of::initializers;

Bytes op(const std::vector<std::string_view>& inputs, std::string_view output,
         const Bytes& attribute = {}) {
    Bytes fields;
    for (const auto name : inputs) append(fields, blob(1, name));
    return blob(1, join(fields, blob(2, output), attribute));
}

Bytes body(const Bytes& graph) {
    return blob(5, join(blob(1, "b"), blob(6, graph), scalar(20, 5)));
}

Bytes value(std::uint32_t list, std::string_view name) { return blob(list, blob(1, name)); }

Bytes sparse_field(std::string_view name) {
    return blob(15, join(blob(1, raw_tensor(name, {1})), blob(2, raw_tensor("w", {0}))));
}

// A model that refers to two initializers in every way. Names written out refer to something else.
Bytes model_with(std::string_view w, std::string_view v) {
    const Bytes inner_note = blob(14, join(blob(1, w), blob(2, string_entry("SCALE", v)),
                                           blob(2, string_entry("ZERO_POINT_TENSOR", "inner"))));
    const Bytes deep = join(op({w, "inner"}, "deep"), value(12, w), inner_note);
    const Bytes outer = join(op({"x"}, "inner"), op({v}, "o", body(deep)));
    const Bytes hiding = join(value(11, "h"), op({"h", w}, "p"), value(12, "h"),
                              blob(14, join(blob(1, "h"), blob(2, string_entry("SCALE", w)))));
    const Bytes note = blob(14, join(blob(1, w), blob(2, string_entry("SCALE", v)),
                                     blob(2, string_entry("w", "other"))));
    const Bytes graph = join(value(11, w), op({w, "", v, w}, "y", body(outer)), blob(2, "g"),
                             op({"x"}, "z", body(hiding)), blob(5, raw_tensor(w, {1})),
                             sparse_field(v), value(12, w), value(12, "y"), value(13, v), note);
    const Bytes algorithm =
        join(op({w, "q"}, "v_new"), op({v}, "r", body(op({w}, "deep"))), value(12, v));
    const Bytes training =
        blob(20, join(blob(2, algorithm), blob(3, string_entry(v, "w")),
                      blob(4, string_entry(w, "v_new")), blob(4, string_entry("q", v))));
    return join(model(graph), training);
}

struct Renamed {
    explicit Renamed(const Bytes& bytes) : edited(bytes), graph(main_graph(edited.document)) {}

    void rename(RenamedNames names) { model::Renaming(graph, std::move(names)).apply(); }

    EditedDocument edited;
    model::Graph graph;
};

std::string refusal_of(const Bytes& bytes, RenamedNames names) {
    Renamed model(bytes);
    std::string text;
    try {
        model.rename(std::move(names));
    } catch (const std::invalid_argument& error) {
        text = error.what();
    }
    CHECK_FALSE((*model.edited).edits().any());
    return text;
}

}  // namespace

TEST_CASE("rename: all that refers to initializers follows") {
    Renamed model(model_with("w", "v"));
    model.rename({{"w", "weight"}, {"v", "bias"}, {"x", "x"}});
    Bytes expected = model_with("weight", "bias");
    CHECK(model.edited.flat() == expected);
}

TEST_CASE("rename: names may move on to each other") {
    Renamed model(model_with("w", "v"));
    model.rename({{"w", "v"}, {"v", "w"}});
    CHECK(model.edited.flat() == model_with("v", "w"));
}

TEST_CASE("rename: a subgraph that has a value of the name keeps its own") {
    const auto bytes = [](std::string_view name) {
        const Bytes hiding = join(value(11, "h"), op({"h"}, "p"), value(12, "h"));
        const Bytes beside = op({name}, "q");
        return model(join(op({name}, "y", body(hiding)), op({"x"}, "z", body(beside)),
                          blob(5, raw_tensor(name, {1}))));
    };
    Renamed model(bytes("h"));
    model.rename({{"h", "other"}});
    CHECK(model.edited.flat() == bytes("other"));
}

TEST_CASE("rename: an algorithm that makes a value of the name keeps its own") {
    const auto bytes = [](std::string_view name) {
        const Bytes algorithm = join(op({"x"}, "w"), op({"w"}, "y"));
        const Bytes update = blob(4, string_entry(name, "w"));
        return join(model(join(op({name}, "z"), blob(5, raw_tensor(name, {1})))),
                    blob(20, join(blob(2, algorithm), update)));
    };
    Renamed model(bytes("w"));
    model.rename({{"w", "other"}});
    CHECK(model.edited.flat() == bytes("other"));
    CHECK(refusal_of(bytes("v"), {{"v", "w"}}).starts_with("a subgraph has a value of its own"));
}

TEST_CASE("rename: sharding specs follow the inputs of their node") {
    const auto bytes = [](std::string_view w, std::string_view v) {
        const auto spec = [](std::string_view name) { return blob(2, blob(1, name)); };
        const Bytes first = blob(10, join(blob(1, "c"), spec(w), spec("y"), spec(w)));
        const Bytes second = blob(10, join(blob(1, "d"), spec(v)));
        const Bytes node =
            blob(1, join(blob(1, w), blob(1, v), blob(1, w), blob(2, "y"), first, second));
        return model(join(node, blob(5, raw_tensor(w, {1})), blob(5, raw_tensor(v, {1}))));
    };
    Renamed model(bytes("w", "v"));
    model.rename({{"w", "v"}, {"v", "w"}});
    CHECK(model.edited.flat() == bytes("v", "w"));
}

TEST_CASE("rename: inputs and outputs of nodes are values, too") {
    const auto bytes = [](std::string_view x, std::string_view y) {
        const auto spec = blob(10, join(blob(1, "c"), blob(2, blob(1, y))));
        const Bytes maker = blob(1, join(blob(1, x), blob(2, "other"), blob(2, y), spec));
        const Bytes inner = join(op({y, x}, "z"), value(12, y));
        return model(join(value(11, x), maker, op({y}, "q", body(inner)), value(12, y),
                          value(13, y), blob(14, blob(1, y))));
    };
    Renamed model(bytes("x", "y"));
    const auto unknown = [&](const char* name) {
        return model::Renaming(model.graph, {{name, "n"}})
            .first_unknown(model::Renaming::Of::all_values)
            .has_value();
    };
    for (const char* const name : {"x", "y", "other", "q"}) CHECK_FALSE(unknown(name));
    for (const char* const name : {"z", "absent", ""}) CHECK(unknown(name));
    model.rename({{"x", "y"}, {"y", "x"}});
    CHECK(model.edited.flat() == bytes("y", "x"));
}

TEST_CASE("rename: a value from outside that is used is not hidden") {
    const Bytes below = join(op({"deep"}, "a"), value(12, "a"));
    const Bytes bytes = join(op({"input", "i"}, "b", body(below)), value(12, "output"),
                             blob(5, raw_tensor("i", {1})));
    const EditedDocument edited(bytes, onnx::message<"GraphProto">);
    const model::Graph graph(edited.document, edited.root());
    for (const char* const outer : {"input", "deep", "output"}) {
        CAPTURE(outer);
        CHECK_THROWS_WITH_AS(model::Renaming(graph, {{"i", outer}}).apply(),
                             doctest::Contains("from outside, which it would hide"),
                             std::invalid_argument);
    }
    CHECK_FALSE((*edited).edits().any());
    model::Renaming(graph, {{"i", "new"}}).apply();
    CHECK((*edited).edits().any());
}

TEST_CASE("rename: unknown names are those of no initializer, or of several") {
    const Bytes segment = join(raw_tensor("parts", {1}), blob(3, join(scalar(1, 0), scalar(2, 1))));
    const Bytes bytes =
        model(join(op({"x"}, "y"), value(11, "x"), blob(5, raw_tensor("w", {1})), sparse_field("s"),
                   blob(5, raw_tensor("twice", {1})), blob(5, raw_tensor("twice", {1})),
                   blob(5, segment), blob(5, segment), blob(5, raw_tensor("", {1}))));
    Renamed model(bytes);
    const auto unknown = [&](const std::string& name) {
        return model::Renaming(model.graph, {{"w", "w2"}, {name, "n"}})
            .first_unknown(kInitializersOnly)
            .has_value();
    };
    for (const char* const name : {"x", "y", "absent", "", "twice"}) CHECK(unknown(name));
    for (const char* const name : {"s", "parts"}) CHECK_FALSE(unknown(name));
    CHECK(model::Renaming(model.graph, {{"absent", "absent"}}).first_unknown(kInitializersOnly) ==
          std::nullopt);
    model.rename({{"parts", "pieces"}});
    const model::Graph now(model.edited.document, model.edited.graph());
    CHECK(now.initializers().position("pieces") == 3U);
}

TEST_CASE("rename: a new name that is taken changes nothing") {
    const Bytes bytes = model_with("w", "v");
    CHECK(refusal_of(bytes, {{"w", ""}}) == "a value needs a name");
    for (const char* const taken : {"v", "y", "z"}) {
        CHECK(refusal_of(bytes, {{"w", taken}}) ==
              "the graph has a value of the name '" + std::string(taken) + "' already");
    }
    CHECK(refusal_of(bytes, {{"w", "n"}, {"v", "n"}}) == "two values would get the name 'n'");
    CHECK(refusal_of(bytes, {{"v", "v"}, {"w", "v"}}).starts_with("the graph has a value"));
    for (const char* const hidden : {"inner", "o", "deep", "h", "p"}) {
        CHECK(refusal_of(bytes, {{"w", hidden}}) ==
              "a subgraph has a value of its own of the name '" + std::string(hidden) +
                  "', which would hide it");
    }
    CHECK(refusal_of(bytes, {{"w", "w"}}).empty());
}

TEST_CASE("rename: the initializers of a removed graph keep their names") {
    Renamed model(model_with("w", "v"));
    model::clear(*model.edited, model.edited.root(), field<"ModelProto.graph">);
    CHECK(code_of([&] {
              model.rename({{"w", "n"}});
              return 0;
          }) == "edit.removed");
}

TEST_CASE("rename: names that were renamed are found again") {
    Renamed model(model_with("w", "v"));
    model.rename({{"w", "first"}});
    const model::Graph now(model.edited.document, model.edited.graph());
    model::Renaming(now, {{"first", "second"}, {"v", "sparse"}}).apply();
    CHECK(model.edited.flat() == model_with("second", "sparse"));
}

}  // namespace onnxmap::test
