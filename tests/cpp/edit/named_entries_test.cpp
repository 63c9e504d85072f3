// Repeated fields as mappings: which entry of a name counts, and what an edit changes.
#include "edit/named_entries.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "edit/message_edits.hpp"
#include "edited_document.hpp"

namespace onnxmap::test {

namespace {

using edit::Handle;
using edit::NamedEntries;
using edit::NewEntry;
using onnx::field;
using onnx::message;

constexpr const auto& kStrings = field<"ModelProto.metadata_props">;
constexpr const auto& kVersions = field<"ModelProto.opset_import">;
constexpr const auto& kAttributes = field<"NodeProto.attribute">;

NamedEntries entries_of(const EditedDocument& edited, const wire::FieldRow& row) {
    return {Handle{edited.document, edited.root()}, row};
}

NewEntry new_string(const std::string& key, const std::string& value) {
    const Handle made = edit::new_message(message<"StringStringEntryProto">);
    const auto& key_row = field<"StringStringEntryProto.key">;
    const auto& value_row = field<"StringStringEntryProto.value">;
    const model::NewValue encoded = model::text_value(value_row, value);
    edit::change_message(made, model::set_value, key_row, model::text_value(key_row, key));
    edit::change_message(made, model::set_value, value_row, encoded);
    return {made, encoded};
}

NewEntry new_version(const std::string& domain, std::uint64_t version) {
    const Handle made = edit::new_message(message<"OperatorSetIdProto">);
    const auto& domain_row = field<"OperatorSetIdProto.domain">;
    const model::NewValue encoded = new_value(scalar(2, version));
    edit::change_message(made, model::set_value, domain_row, model::text_value(domain_row, domain));
    edit::change_message(made, model::set_value, field<"OperatorSetIdProto.version">, encoded);
    return {made, encoded};
}

NewEntry new_attribute(const std::string& name, std::uint64_t value) {
    const Handle made = edit::new_message(message<"AttributeProto">);
    const auto& row = field<"AttributeProto.name">;
    edit::change_message(made, model::set_value, row, model::text_value(row, name));
    edit::change_message(made, model::set_value, field<"AttributeProto.i">,
                         new_value(scalar(3, value)));
    return {made, std::nullopt};
}

Bytes string_field(const std::string& key, const std::string& value, const Bytes& more = {}) {
    return blob(14, join(blob(1, key), blob(2, value), more));
}

Bytes version_field(const std::string& domain, std::uint64_t version) {
    return blob(8, join(blob(1, domain), scalar(2, version)));
}

}  // namespace

TEST_CASE("named_entries: the last string of a key counts, and keeps its unknown fields") {
    const Bytes unknown = scalar(99, 1);
    const EditedDocument edited(
        join(string_field("a", "1"), string_field("b", "2"), string_field("a", "3", unknown)),
        message<"ModelProto">);
    const NamedEntries entries = entries_of(edited, kStrings);
    CHECK(entries.count() == 2);
    CHECK(entries.by_name()->repeated == "a");
    CHECK(entries.find("a").entry->text(field<"StringStringEntryProto.value">) == "3");
    entries.set("a", new_string("a", "4"));
    entries.set("c", new_string("c", "5"));
    CHECK(edited.flat() == join(string_field("a", "1"), string_field("b", "2"),
                                blob(14, join(blob(1, "a"), blob(2, "4"), unknown)),
                                string_field("c", "5")));
    CHECK(entries.remove("a"));
    CHECK_FALSE(entries.remove("a"));
    CHECK(edited.flat() == join(string_field("b", "2"), string_field("c", "5")));
}

TEST_CASE("named_entries: both spellings of the default domain are one operator set") {
    const EditedDocument edited(
        join(version_field("", 9), version_field("x", 1), version_field("ai.onnx", 12)),
        message<"ModelProto">);
    const NamedEntries entries = entries_of(edited, kVersions);
    CHECK(entries.count() == 2);
    CHECK(entries.find("").entry->int64(field<"OperatorSetIdProto.version">) == 12);
    entries.set("ai.onnx", new_version("ai.onnx", 13));
    CHECK(edited.flat() ==
          join(version_field("", 13), version_field("x", 1), version_field("ai.onnx", 13)));
    CHECK(entries.remove(""));
    CHECK(edited.flat() == version_field("x", 1));
}

TEST_CASE("named_entries: an attribute is replaced as a whole, where it stands") {
    const Bytes documented = blob(5, join(blob(1, "k"), blob(13, "doc")));
    const EditedDocument edited(join(documented, blob(5, blob(1, "l"))), message<"NodeProto">);
    const NamedEntries entries = entries_of(edited, kAttributes);
    entries.set("k", new_attribute("k", 7));
    CHECK(edited.flat() == join(blob(5, join(blob(1, "k"), scalar(3, 7))), blob(5, blob(1, "l"))));
}

TEST_CASE("named_entries: many look-ups find what few do") {
    const EditedDocument edited(join(string_field("a", "1"), string_field("a", "2")),
                                message<"ModelProto">);
    const NamedEntries entries = entries_of(edited, kStrings);
    for (int i = 0; i < 20; ++i) {
        CHECK(entries.find("a").entry->text(field<"StringStringEntryProto.value">) == "2");
        CHECK(entries.find("a").repeated == "a");
        CHECK_FALSE(entries.find("b").entry);
    }
}

}  // namespace onnxmap::test
