#include "check/metadata_check.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "check/string_check.hpp"
#include "model/name_table.hpp"
#include "onnx/schema.hpp"

namespace onnxmap::check {

using onnx::field;

namespace {

struct PredefinedKey {
    std::string_view key;
    std::array<std::string_view, 5> values;  // the rest is empty
};

// Source: docs/MetadataProps.md of ONNX.
constexpr std::array kPredefined = {
    PredefinedKey{"Image.BitmapPixelFormat", {"Gray8", "Rgb8", "Bgr8", "Rgba8", "Bgra8"}},
    PredefinedKey{"Image.ColorSpaceGamma", {"Linear", "SRGB"}},
    PredefinedKey{
        "Image.NominalPixelRange",
        {"NominalRange_0_255", "Normalized_0_1", "Normalized_1_1", "NominalRange_16_235"}},
};

constexpr std::string_view kBlanks = " \t\r\n";

bool is_blank(std::string_view text) noexcept {
    return text.find_first_not_of(kBlanks) == std::string_view::npos;
}

// What is wrong with a list of names with commas between them; null if nothing is.
const char* fault_of_author(std::string_view text) noexcept {
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        if (is_blank(text.substr(begin, end - begin))) return "has an empty name";
        begin = end + 1;
    }
    return nullptr;
}

// A name may be any text, and a URL has no blanks.
const char* fault_of_license(std::string_view text) noexcept {
    if (is_blank(text)) return "is empty";
    const bool is_url = text.find("://") != std::string_view::npos;
    return is_url && text.find_first_of(kBlanks) != std::string_view::npos ? "is a URL with a blank"
                                                                           : nullptr;
}

}  // namespace

void check_metadata(Findings& findings, const onnx::Message& message, const wire::FieldRow& row,
                    const FieldPath& path) {
    const Rule rule = &row == &field<"ModelProto.metadata_props"> ? Rule::model_metadata_key
                                                                  : Rule::graph_metadata_key;
    model::NameTable keys;
    for_each_child(message, row, path, [&](const onnx::Message& entry, const FieldPath& here) {
        const auto key = entry.text(field<"StringStringEntryProto.key">);
        check_texts(findings, entry, here);
        if (key.empty()) {
            findings.add(rule, here, "the entry has no key");
        } else if (!keys.add(key).is_new) {
            findings.add(rule, here, {"another entry before it has the key ", Quoted(key)});
        }
    });
}

void check_predefined_metadata(Findings& findings, const onnx::Message& model,
                               const FieldPath& root) {
    const wire::FieldRow& row = field<"ModelProto.metadata_props">;
    for_each_child(model, row, root, [&](const onnx::Message& entry, const FieldPath& here) {
        const auto key = entry.text(field<"StringStringEntryProto.key">);
        const auto text = entry.text(field<"StringStringEntryProto.value">);
        const char* const fault = key == "model_author"    ? fault_of_author(text)
                                  : key == "model_license" ? fault_of_license(text)
                                                           : nullptr;
        if (fault != nullptr) {
            findings.add(Rule::model_metadata_form, here, {key, " ", fault});
        }
        const auto* const known = std::ranges::find(kPredefined, key, &PredefinedKey::key);
        if (known == kPredefined.end()) return;
        if (!text.empty() && std::ranges::find(known->values, text) != known->values.end()) return;
        findings.add(Rule::model_metadata_value, here, {Quoted(text), " is not a value of ", key});
    });
}

}  // namespace onnxmap::check
