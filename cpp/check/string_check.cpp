#include "check/string_check.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "model/unknown_fields.hpp"

namespace onnxmap::check {

namespace {

// Numbers of fields that today's onnx.proto reserves.
struct Reserved {
    const wire::MessageTable* table;
    std::uint32_t number;
    std::string_view name;  // that it had
};
// Source: onnx.proto, `reserved`, and the names in its first versions.
constexpr Reserved kReserved[] = {
    {&onnx::message<"AttributeProto">, 12, "v"},
    {&onnx::message<"AttributeProto">, 16, ""},
    {&onnx::message<"AttributeProto">, 17, ""},
    {&onnx::message<"AttributeProto">, 18, ""},
    {&onnx::message<"AttributeProto">, 19, ""},
    {&onnx::message<"GraphProto">, 3, "input"},
    {&onnx::message<"GraphProto">, 4, "output"},
    {&onnx::message<"GraphProto">, 6, "ir_version"},
    {&onnx::message<"GraphProto">, 7, "producer_version"},
    {&onnx::message<"GraphProto">, 8, "producer_tag"},
    {&onnx::message<"GraphProto">, 9, "domain"},
    {&onnx::message<"TypeProto.Opaque">, 3, "parameters"},
};

}  // namespace

std::optional<std::string_view> removed_field(const onnx::Message& message,
                                              const wire::Field& unknown) noexcept {
    const wire::FieldRow* const row = message.table().find(unknown.number);
    if (row != nullptr && row->retired) return row->name;
    for (const Reserved& each : kReserved) {
        if (each.table == &message.table() && each.number == unknown.number) return each.name;
    }
    return std::nullopt;
}

void check_removed(Findings& findings, const onnx::Message& message, const wire::Field& unknown,
                   const FieldPath& path) {
    const auto removed = removed_field(message, unknown);
    if (!removed) return;
    findings.add(Rule::model_field_removed, path, [&] {
        return "it has field " + std::to_string(unknown.number) + ", which " +
               (removed->empty() ? std::string("is reserved") : "was " + std::string(*removed));
    });
}

void check_texts(Findings& findings, const onnx::Message& message, const FieldPath& path) {
    if (!findings.wants(Rule::model_text) && !findings.wants(Rule::model_field_removed)) return;
    std::vector<std::pair<const wire::FieldRow*, std::uint64_t>> counts;  // of repeated fields
    message.for_each_field([&](const wire::Field& found, const wire::FieldRow* row) {
        if (model::is_unknown(row)) {
            check_removed(findings, message, found, path);
            return;
        }
        if (row->type != wire::Type::string) return;
        std::uint64_t index = 0;
        if (row->repeated()) {
            auto known =
                std::ranges::find(counts, row, [](const auto& each) { return each.first; });
            if (known == counts.end()) known = counts.insert(counts.end(), {row, 0});
            index = known->second++;
        }
        if (!is_utf8(found.text())) {
            findings.add(Rule::model_text, FieldPath{&path, row, index}, "the text is not UTF-8");
        }
    });
}

const char* fault_of_string(std::string_view text) noexcept {
    if (!is_utf8(text)) return "is not UTF-8";
    if (text.starts_with("\xef\xbb\xbf")) return "begins with a byte order mark";
    if (text.find('\0') != std::string_view::npos) return "has a NUL byte";
    return nullptr;
}

bool is_sha1(std::string_view text) noexcept {
    return text.size() == 40 && std::ranges::all_of(text, [](char c) {
               return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f');
           });
}

bool is_semver_part(std::string_view text) noexcept {
    char before = '.';
    for (const char c : text) {
        if (!is_letter(c) && !is_digit(c) && c != '-' && c != '.') return false;
        if (c == '.' && before == '.') return false;
        before = c;
    }
    return before != '.';
}

}  // namespace onnxmap::check
