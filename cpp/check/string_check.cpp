#include "check/string_check.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "check/characters.hpp"
#include "model/unknown_fields.hpp"

namespace onnxmap::check {

namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080;

// How many bytes at the beginning are ASCII, in steps of eight.
std::size_t ascii_words(std::string_view text) noexcept {
    std::size_t size = 0;
    for (std::uint64_t word = 0; text.size() - size >= sizeof(word); size += sizeof(word)) {
        std::memcpy(&word, text.data() + size, sizeof(word));
        if ((word & kHighBits) != 0) break;
    }
    return size;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
    text.remove_prefix(ascii_words(text));
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string_view removed_field(const onnx::Message& message, const wire::Field& unknown) noexcept {
    constexpr std::uint32_t kValue = 12;  // AttributeProto.v. Source: onnx.proto, `reserved`
    const wire::FieldRow* const row = message.table().find(unknown.number);
    if (row != nullptr && row->retired) return row->name;
    const bool is_attribute = &message.table() == &onnx::message<"AttributeProto">;
    return is_attribute && unknown.number == kValue ? "v" : "";
}

void check_texts(Findings& findings, const onnx::Message& message, const FieldPath& place) {
    if (!findings.wants(Rule::model_text) && !findings.wants(Rule::model_field_removed)) return;
    std::vector<std::pair<const wire::FieldRow*, std::uint64_t>> counts;  // of repeated fields
    message.for_each_field([&](const wire::Field& found, const wire::FieldRow* row) {
        if (model::is_unknown(row)) {
            const std::string_view removed = removed_field(message, found);
            if (removed.empty()) return;
            findings.add(Rule::model_field_removed, place, [&] {
                return "it has field " + std::to_string(found.number) + ", which was " +
                       std::string(removed);
            });
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
            findings.add(Rule::model_text, FieldPath{&place, row, index}, "the text is not UTF-8");
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
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
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
