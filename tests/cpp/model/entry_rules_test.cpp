#include "model/entry_rules.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "loaded_model.hpp"

namespace onnxmap::test {

TEST_CASE("entry_rules: all entries of a name are found, whatever field names them") {
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

TEST_CASE("entry_rules: the state variables are the keys of all bindings, each once") {
    const auto training = [](const Bytes& fields) { return blob(20, fields); };
    const auto binding = [](std::string_view key) { return blob(4, string_entry(key, "new")); };
    const auto document = LoadedModel::whole(
        join(training(join(binding("w"), blob(3, string_entry("only set", "x")), binding("b"))),
             training(join(binding("w"), binding("m")))));
    CHECK(model::state_variables(*document, document->root()) ==
          std::vector<std::string_view>{"only set", "w", "b", "m"});
    const auto untrained = LoadedModel::whole(tiny_model());
    CHECK(model::state_variables(*untrained, untrained->root()).empty());
}

TEST_CASE("entry_rules: the repeated fields that are mappings") {
    using model::EntryKind;
    CHECK(model::entry_kind(onnx::field<"GraphProto.metadata_props">) == EntryKind::string);
    CHECK(model::entry_kind(onnx::field<"TensorProto.external_data">) == EntryKind::string);
    CHECK(model::entry_kind(onnx::field<"NodeProto.attribute">) == EntryKind::attribute);
    CHECK(model::entry_kind(onnx::field<"FunctionProto.attribute_proto">) == EntryKind::attribute);
    CHECK(model::entry_kind(onnx::field<"ModelProto.opset_import">) == EntryKind::operator_set);
    CHECK_FALSE(model::entry_kind(onnx::field<"GraphProto.node">));
    CHECK_FALSE(model::entry_kind(onnx::field<"GraphProto.name">));
    CHECK_FALSE(model::entry_kind(onnx::field<"FunctionProto.attribute">));
    CHECK(model::value_of_entries(onnx::field<"NodeProto.attribute">) == nullptr);
}

TEST_CASE("entry_rules: the default domain has two spellings") {
    const auto& opsets = onnx::field<"FunctionProto.opset_import">;
    CHECK(model::other_spelling(opsets, "") == "ai.onnx");
    CHECK(model::other_spelling(opsets, "ai.onnx") == "");
    CHECK_FALSE(model::other_spelling(opsets, "ai.onnx.ml"));
    CHECK_FALSE(model::other_spelling(onnx::field<"GraphProto.metadata_props">, ""));
}

TEST_CASE("entry_rules: of one name the last counts, of operator sets the highest version") {
    const auto& opset = onnx::message<"OperatorSetIdProto">;
    const Bytes twelve = scalar(2, 12);
    const Bytes nine = scalar(2, 9);
    const onnx::Message newer(opset, twelve);
    const onnx::Message older(opset, nine);
    CHECK(model::counts_after(newer, older));
    CHECK_FALSE(model::counts_after(older, newer));
    CHECK_FALSE(model::counts_after(older, older));
    const Bytes pair = string_entry("k", "v");
    const onnx::Message entry(onnx::message<"StringStringEntryProto">, pair);
    CHECK(model::counts_after(entry, entry));
}

}  // namespace onnxmap::test
