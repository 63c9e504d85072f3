#include "base/error.hpp"

#include <algorithm>

namespace onnxmap {

namespace {
constexpr std::size_t kMostQuoted = 200;
constexpr std::size_t kMostListed = 10;
}  // namespace

std::string escaped(std::string_view text, char quote) {
    constexpr std::string_view kHex = "0123456789abcdef";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == quote || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte == 0x7f) {
            out += "\\x";
            out += kHex[byte >> 4];
            out += kHex[byte & 15];
        } else {
            out += c;  // UTF-8, or bytes that Python shows as surrogate escapes
        }
    }
    return out;
}

std::string in_quotes(std::string_view text) {
    const bool cut = text.size() > kMostQuoted;
    std::string out = "'";
    out += escaped(text.substr(0, kMostQuoted), '\'');
    out += cut ? "...'" : "'";
    return out;
}

std::string listed(std::span<const std::string_view> names) {
    std::string text;
    for (const std::string_view name : names.first(std::min(names.size(), kMostListed))) {
        text += (text.empty() ? "" : ", ") + in_quotes(name);
    }
    if (names.size() > kMostListed) {
        text += " and " + std::to_string(names.size() - kMostListed) + " more";
    }
    return text;
}

void TextPart::append_to(std::string& text) const {
    switch (kind_) {
        case Kind::text: text += text_; break;
        case Kind::input: text += in_quotes(text_); break;
        case Kind::number: text += std::to_string(number_); break;
        case Kind::negative: text += std::to_string(static_cast<std::int64_t>(number_)); break;
    }
}

std::string text_from(std::initializer_list<TextPart> parts) {
    std::string text;
    for (const TextPart& part : parts) part.append_to(text);
    return text;
}

Error with_text(Error error, const std::string& text) {
    static_cast<std::runtime_error&>(error) = std::runtime_error(text);
    return error;
}

void fail_at(const char* code, const std::string& path, const std::string& reason) {
    Error error(code, in_quotes(path) + reason);
    error.file = path;
    throw error;
}

void fail_changed() {
    throw Error("file.changed", "the bytes of the model changed after it was loaded");
}

void fail_too_deep() {
    throw Error("file.changed", "the bytes are nested deeper than when they were loaded");
}

void fail_edited_too_deep() {
    throw Error("limit.depth",
                "the edited messages are nested too deeply; raise the limit with "
                "limits=Limits(depth=...)");
}

}  // namespace onnxmap
