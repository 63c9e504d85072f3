#include "model/entries.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "loaded_model.hpp"

namespace onnxmap::test {

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs(const model::ByName<model::StringEntry>& all) {
    Pairs found;
    for (const auto& [key, value] : all.entries) found.emplace_back(key, value);
    return found;
}

}  // namespace

TEST_CASE("entries: the last of a repeated key counts, in the place of the first") {
    const Bytes graph =
        join(blob(16, string_entry("a", "1")), blob(16, string_entry("b", "2")),
             blob(16, string_entry("a", "3")), blob(16, string_entry("", "4")), blob(16, Bytes{}));
    const LoadedModel loaded(graph);
    const onnx::Message& message = loaded.graph.fields()->message();
    const auto found =
        model::string_entries(*loaded.document, message, onnx::field<"GraphProto.metadata_props">);
    CHECK(pairs(found) == Pairs{{"a", "3"}, {"b", "2"}, {"", ""}});
    CHECK(found.repeated == "a");
    const auto none = model::string_entries(*loaded.document, loaded.document->root(),
                                            onnx::field<"ModelProto.metadata_props">);
    CHECK(none.entries.empty());
    CHECK_FALSE(none.repeated);
}

TEST_CASE("entries: all entries of a name are found, whatever field names them") {
    const Bytes attributes = join(blob(5, blob(1, "a")), blob(5, Bytes{}), blob(5, blob(1, "a")));
    const LoadedModel loaded(join(blob(1, attributes), blob(16, string_entry("k", "a")),
                                  blob(16, string_entry("a", "k"))));
    const auto positions = [&](const onnx::Message& message, const wire::FieldRow& row,
                               std::string_view name) {
        const auto fields = loaded.document->index(message);
        return model::named_entries(*loaded.document, *fields, row).positions(name);
    };
    using Numbers = std::vector<std::uint64_t>;
    const auto& attribute = onnx::field<"NodeProto.attribute">;
    CHECK(positions(loaded.graph.node(0), attribute, "a") == Numbers{0, 2});
    CHECK(positions(loaded.graph.node(0), attribute, "") == Numbers{1});
    CHECK(positions(loaded.graph.node(0), attribute, "b").empty());
    const auto& strings = onnx::field<"GraphProto.metadata_props">;
    CHECK(positions(loaded.graph.fields()->message(), strings, "a") == Numbers{1});
    const auto& opsets = onnx::field<"ModelProto.opset_import">;
    CHECK(positions(loaded.document->root(), opsets, "") == Numbers{0});
}

TEST_CASE("entries: the state variables are the keys of all update bindings, each once") {
    const auto training = [](const Bytes& fields) { return blob(20, fields); };
    const auto binding = [](std::string_view key) { return blob(4, string_entry(key, "new")); };
    const auto document = LoadedModel::whole(
        join(training(join(binding("w"), blob(3, string_entry("only set", "x")), binding("b"))),
             training(join(binding("w"), binding("m")))));
    CHECK(model::state_variables(*document, document->root()) ==
          std::vector<std::string_view>{"w", "b", "m"});
    const auto untrained = LoadedModel::whole(tiny_model());
    CHECK(model::state_variables(*untrained, untrained->root()).empty());
}

TEST_CASE("entries: only repeated StringStringEntryProto can be found by key") {
    CHECK(model::holds_strings(onnx::field<"GraphProto.metadata_props">));
    CHECK(model::holds_strings(onnx::field<"TensorProto.external_data">));
    CHECK_FALSE(model::holds_strings(onnx::field<"GraphProto.node">));
    CHECK_FALSE(model::holds_strings(onnx::field<"GraphProto.name">));
}

TEST_CASE("entries: operator sets are found by domain, and the highest of a domain counts") {
    const auto opset = [](std::string_view domain, std::uint64_t version) {
        return blob(8, join(blob(1, domain), scalar(2, version)));
    };
    const auto document =
        LoadedModel::whole(join(opset("", 9), opset("ai.onnx.ml", 3), opset("", 12), opset("", 7)));
    std::vector<std::pair<std::string, std::int64_t>> found;
    for (const auto& [domain, version] : model::opset_imports(*document, document->root())) {
        found.emplace_back(domain, version);
    }
    CHECK(found == std::vector<std::pair<std::string, std::int64_t>>{{"", 12}, {"ai.onnx.ml", 3}});
}

}  // namespace onnxmap::test
