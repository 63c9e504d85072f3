#include "safetensors/json_reader.hpp"

#include <array>
#include <charconv>
#include <cstdio>

#include "base/error.hpp"
#include "base/utf8.hpp"

namespace onnxmap::safetensors {

namespace {

constexpr std::string_view kEscapes = "\"\\/bfnrt";
constexpr std::string_view kEscaped = "\"\\/\b\f\n\r\t";

bool is_one_of(std::string_view some, char c) noexcept {
    return some.find(c) != std::string_view::npos;
}

void append_utf8(std::string& out, std::uint32_t code) {
    const auto trail = [&](unsigned shift) {
        out += static_cast<char>(0x80 | (code >> shift & 0x3f));
    };
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xc0 | code >> 6);
        trail(0);
    } else if (code < 0x10000) {
        out += static_cast<char>(0xe0 | code >> 12);
        trail(6);
        trail(0);
    } else {
        out += static_cast<char>(0xf0 | code >> 18);
        trail(12);
        trail(6);
        trail(0);
    }
}

}  // namespace

void JsonReader::fail(const std::string& what) const {
    Error error("model.safetensors", what);
    error.offset = offset();
    throw error;
}

char JsonReader::next() noexcept {
    while (at_ < text_.size() && is_one_of(" \t\n\r", text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonReader::take(char wanted) noexcept {
    if (next() != wanted || at_ == text_.size()) return false;
    ++at_;
    return true;
}

void JsonReader::expect(char wanted) {
    if (!take(wanted)) fail(std::string("expected ") + wanted);
}

bool JsonReader::take_word(std::string_view word) noexcept {
    static_cast<void>(next());
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
}

void JsonReader::begin_list(char open) {
    expect(open);
    if (++depth_ > kMostDepth) fail("lists and objects are nested more than 127 deep");
}

std::string JsonReader::string() {
    if (!take('"')) fail("expected a string");
    std::string out;
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == '"') {
            ++at_;
            return out;
        }
        if (c == '\\') {
            append_escape(out);
            continue;
        }
        const std::size_t length = utf8_length(text_.substr(at_));
        if (length == 0) fail("a string is not UTF-8");
        if (static_cast<unsigned char>(c) < 0x20) fail("a string has a control character");
        out += text_.substr(at_, length);
        at_ += length;
    }
    fail("a string does not end");
}

std::uint32_t JsonReader::four_digits() {
    const std::string_view digits = text_.substr(at_, 4);
    std::uint32_t code = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), code, 16);
    if (digits.size() < 4 || error != std::errc() || end != digits.end()) {
        fail("expected four hexadecimal digits");
    }
    at_ += 4;
    return code;
}

void JsonReader::append_escape(std::string& out) {
    const char letter = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (letter != 'u') {
        const std::size_t known = kEscapes.find(letter);
        if (letter == '\0' || known == std::string_view::npos) fail("an escape is unknown");
        out += kEscaped[known];
        at_ += 2;
        return;
    }
    at_ += 2;
    std::uint32_t code = four_digits();
    if (code >= 0xd800 && code < 0xe000) {  // the first of two surrogates
        const bool pair = code < 0xdc00 && text_.substr(at_).starts_with("\\u");
        at_ += pair ? 2 : 0;
        const std::uint32_t second = pair ? four_digits() : 0;
        if (second < 0xdc00 || second >= 0xe000) fail("a surrogate stands alone");
        code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
    }
    append_utf8(out, code);
}

std::uint64_t JsonReader::integer() {
    const char first = next();
    std::uint64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    const auto length = static_cast<std::size_t>(end - begin);
    const bool has_zero = first == '0' && length > 1;
    const std::string_view rest = text_.substr(at_ + length);
    const bool is_real = !rest.empty() && is_one_of(".eE", rest.front());  // a digit may follow
    if (length == 0 || error != std::errc() || has_zero || is_real) {
        fail("expected an integer from 0 to 2^64 - 1");
    }
    at_ += length;
    return value;
}

void JsonReader::skip_digits() {
    const std::size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
    if (end == at_) fail("expected a digit");
    at_ = end;
}

void JsonReader::skip_number() {
    static_cast<void>(take('-'));
    const auto at_one_of = [&](std::string_view some) {
        return at_ < text_.size() && is_one_of(some, text_[at_]);
    };
    if (at_one_of("0")) {
        ++at_;
    } else {
        skip_digits();
    }
    if (at_one_of(".")) {
        ++at_;
        skip_digits();
    }
    if (!at_one_of("eE")) return;
    ++at_;
    if (at_one_of("+-")) ++at_;
    skip_digits();
}

void JsonReader::skip_value() {
    switch (next()) {
        case '{': for_each_member([&](const std::string&) { skip_value(); }); return;
        case '[': for_each_element([&] { skip_value(); }); return;
        case '"': static_cast<void>(string()); return;
        default: break;
    }
    if (!take_word("true") && !take_word("false") && !take_word("null")) skip_number();
}

void JsonReader::end() {
    static_cast<void>(next());
    if (at_ < text_.size()) fail("expected the end of the JSON text");
}

void write_json_string(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        const std::size_t known = kEscaped.find(c);
        if (known != std::string_view::npos && c != '/') {
            out += '\\';
            out += kEscapes[known];
        } else if (static_cast<unsigned char>(c) < 0x20) {
            std::array<char, 7> code{};
            std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
            out += code.data();
        } else {
            out += c;
        }
    }
    out += '"';
}

}  // namespace onnxmap::safetensors
