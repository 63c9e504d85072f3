#include "check/string_check.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace onnxmap::check {

namespace {

struct Lead {
    std::uint8_t least;       // the smallest first byte
    std::uint8_t most;        // the largest one
    std::size_t length;       // of the character, in bytes
    std::uint8_t least_next;  // of the second byte
    std::uint8_t most_next;
};

// Source: RFC 3629, section 4.
constexpr Lead kLeads[] = {
    {0x00, 0x7f, 1, 0, 0},       {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
    {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf},
    {0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

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

bool is_alphanumeric(char c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    for (std::size_t i = ascii_words(text); i < text.size();) {
        const auto* const lead = std::ranges::find_if(kLeads, [&](const Lead& each) {
            return each.least <= byte(i) && byte(i) <= each.most;
        });
        if (lead == std::end(kLeads) || text.size() - i < lead->length) return false;
        for (std::size_t k = 1; k < lead->length; ++k) {
            const std::uint8_t least = k == 1 ? lead->least_next : 0x80;
            const std::uint8_t most = k == 1 ? lead->most_next : 0xbf;
            if (byte(i + k) < least || byte(i + k) > most) return false;
        }
        i += lead->length;
    }
    return true;
}

std::string_view removed_field(const onnx::Message& message, const wire::Field& found) noexcept {
    constexpr std::uint32_t kValue = 12;  // AttributeProto.v. Source: onnx.proto, `reserved`
    const wire::FieldRow* const row = message.table().find(found.number);
    if (row != nullptr && row->retired) return row->name;
    const bool is_attribute = &message.table() == &onnx::message<"AttributeProto">;
    return is_attribute && found.number == kValue ? "v" : "";
}

void check_texts(Findings& findings, const onnx::Message& message, const FieldPath& place) {
    if (!findings.wants(Rule::model_text) && !findings.wants(Rule::model_field_removed)) return;
    std::vector<std::pair<const wire::FieldRow*, std::uint64_t>> counts;  // of repeated fields
    message.for_each_field([&](const wire::Field& found, const wire::FieldRow* row) {
        const std::string_view removed = removed_field(message, found);
        if (!removed.empty()) {
            findings.add(Rule::model_field_removed, place, [&] {
                return "it has field " + std::to_string(found.number) + ", which was " +
                       std::string(removed);
            });
        }
        if (row == nullptr || row->type != wire::Type::string) return;
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
        if (!is_alphanumeric(c) && c != '-' && c != '.') return false;
        if (c == '.' && before == '.') return false;
        before = c;
    }
    return before != '.';
}

}  // namespace onnxmap::check
