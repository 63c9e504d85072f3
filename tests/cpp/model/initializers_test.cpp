#include "model/initializers.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "caught.hpp"
#include "loaded_model.hpp"

namespace onnxmap::test {

namespace {

using Strings = std::vector<std::string>;

// The piece of a tensor of two bytes that has the bytes `begin` to `end`.
LoadedModel loaded(const std::vector<Bytes>& tensors) {
    Bytes graph;
    for (const Bytes& one : tensors) append(graph, join(blob(5, one), blob(1, node("Between"))));
    return LoadedModel(graph);
}

// Four names. `twice` is the name of two tensors, so it finds none. `parts` is a tensor in two
// segments.
LoadedModel sample() {
    return loaded({raw_tensor("a", {1}), raw_tensor("twice", {1, 2}), raw_tensor("", {1}),
                   segment_tensor("parts", 0, 1), raw_tensor("twice", {3}),
                   segment_tensor("parts", 1, 2), raw_tensor("z", {1, 2, 3})});
}

std::string name_of(const onnx::Message& tensor) {
    return std::string(tensor.text(onnx::field<"TensorProto.name">));
}

}  // namespace

TEST_CASE("initializers: all are listed in order, even unnamed and repeated ones") {
    const LoadedModel model = sample();
    const model::Initializers& all = model.graph.initializers();
    CHECK(all.count() == 7);
    Strings names;
    all.for_each([&](const onnx::Message& tensor) { names.push_back(name_of(tensor)); });
    CHECK(names == Strings{"a", "twice", "", "parts", "twice", "parts", "z"});
    for (std::uint64_t i = 0; i < 7; ++i) CHECK(name_of(all.at(i)) == names[i]);
    CHECK_THROWS_AS(static_cast<void>(all.at(7)), Error);
    CHECK(all.stored_nbytes() == 10);
}

TEST_CASE("initializers: a name of several tensors finds one only if all are its segments") {
    const LoadedModel model = sample();
    const model::ListNames& names = model.graph.initializers().names();
    CHECK(names.count() == 4);
    Strings each;
    for (std::uint32_t i = 0; i < names.count(); ++i) each.emplace_back(names.name(i));
    CHECK(each == Strings{"a", "twice", "parts", "z"});
    CHECK(names.position("a") == 0U);
    CHECK(names.position("parts") == 3U);
    CHECK(names.position("z") == 6U);
    CHECK_FALSE(names.position(""));
    CHECK_FALSE(names.position("b"));
    CHECK(names.contains("twice"));
    CHECK(code_of([&] { return names.position("twice"); }) == "model.duplicate_name");
    CHECK(code_of([&] { return names.positions(); }) == "model.duplicate_name");
    const LoadedModel good =
        loaded({raw_tensor("b", {1}), segment_tensor("p", 0, 1), raw_tensor("", {}),
                segment_tensor("p", 1, 2), raw_tensor("a", {1})});
    CHECK(good.graph.initializers().names().positions() == std::vector<std::uint32_t>{0, 1, 4});
}

TEST_CASE("initializers: a segment and a whole tensor of the same name are two tensors") {
    const LoadedModel model =
        loaded({segment_tensor("w", 0, 1), segment_tensor("w", 1, 2), raw_tensor("w", {1})});
    CHECK(code_of([&] { return model.graph.initializers().names().position("w"); }) ==
          "model.duplicate_name");
}

TEST_CASE("initializers: named ones are listed up to the second tensor of a name") {
    Strings seen;
    const auto insert = [&](const model::Tensor& tensor) {
        const std::string name(tensor.header().name);
        const bool is_new = std::ranges::find(seen, name) == seen.end();
        seen.push_back(name + (is_new ? "" : "+"));
        return is_new;
    };
    const LoadedModel good =
        loaded({raw_tensor("a", {1}), segment_tensor("p", 0, 1), raw_tensor("", {}),
                segment_tensor("p", 1, 2), raw_tensor("b", {1})});
    good.graph.initializers().insert_named(insert);
    CHECK(seen == Strings{"a", "p", "p+", "b"});
    seen.clear();
    const LoadedModel bad = sample();
    CHECK(code_of([&] {
              bad.graph.initializers().insert_named(insert);
              return 0;
          }) == "model.duplicate_name");
    CHECK(seen == Strings{"a", "twice", "parts", "twice+"});
}

TEST_CASE(
    "initializers: chosen ones come in the order of the list, with their place in the choice") {
    const LoadedModel model = sample();
    const model::Initializers& all = model.graph.initializers();
    std::vector<std::pair<std::uint32_t, std::string>> seen;
    const auto visit = [&](std::uint32_t i, const onnx::Message& tensor) {
        seen.emplace_back(i, name_of(tensor));
    };
    all.for_each_at(std::vector<std::uint32_t>{6, 0, 3, 0}, visit);
    CHECK(seen == std::vector<std::pair<std::uint32_t, std::string>>{
                      {1, "a"}, {3, "a"}, {2, "parts"}, {0, "z"}});
    seen.clear();
    CHECK_THROWS_AS(all.for_each_at(std::vector<std::uint32_t>{0, 7}, visit), Error);
    CHECK(seen.empty());
}

TEST_CASE("initializers: a graph in two parts has the initializers of both") {
    const Bytes bytes = join(blob(7, blob(5, raw_tensor("a", {1}))), scalar(1, 10),
                             blob(7, blob(5, raw_tensor("b", {1, 2}))));
    const LoadedModel model(LoadedModel::whole(bytes));
    CHECK(model.graph.initializers().count() == 2);
    CHECK(model.graph.initializers().names().position("b") == 1U);
}

}  // namespace onnxmap::test
