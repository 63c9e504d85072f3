#include "model/entries.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "loaded_model.hpp"

namespace onnxmap::test {

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs(const std::vector<model::StringEntry>& entries) {
    Pairs found;
    for (const auto& [key, value] : entries) found.emplace_back(key, value);
    return found;
}

}  // namespace

TEST_CASE("entries: the last of a repeated key counts, in the place of the first") {
    const Bytes graph =
        join(blob(16, string_entry("a", "1")), blob(16, string_entry("b", "2")),
             blob(16, string_entry("a", "3")), blob(16, string_entry("", "4")), blob(16, Bytes{}));
    const LoadedModel loaded(graph);
    const onnx::Message& message = loaded.graph.fields()->message();
    CHECK(pairs(model::metadata_props(*loaded.document, message)) ==
          Pairs{{"a", "3"}, {"b", "2"}, {"", ""}});
    CHECK(pairs(model::metadata_props(*loaded.document, loaded.document->root())).empty());
}

TEST_CASE("entries: only repeated StringStringEntryProto can be found by key") {
    CHECK(model::holds_strings(onnx::field<"GraphProto.metadata_props">));
    CHECK(model::holds_strings(onnx::field<"TensorProto.external_data">));
    CHECK_FALSE(model::holds_strings(onnx::field<"GraphProto.node">));
    CHECK_FALSE(model::holds_strings(onnx::field<"GraphProto.name">));
}

TEST_CASE("entries: operator sets are found by domain, and the last of a domain counts") {
    const auto opset = [](std::string_view domain, std::uint64_t version) {
        return blob(8, join(blob(1, domain), scalar(2, version)));
    };
    const auto document =
        LoadedModel::whole(join(opset("", 12), opset("ai.onnx.ml", 3), opset("", 9)));
    std::vector<std::pair<std::string, std::int64_t>> found;
    for (const auto& [domain, version] : model::opset_imports(*document, document->root())) {
        found.emplace_back(domain, version);
    }
    CHECK(found == std::vector<std::pair<std::string, std::int64_t>>{{"", 9}, {"ai.onnx.ml", 3}});
}

}  // namespace onnxmap::test
