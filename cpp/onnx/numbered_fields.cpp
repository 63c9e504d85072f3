#include "onnx/numbered_fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "onnx/schema.hpp"
#include "wire/reader.hpp"
#include "wire/writer.hpp"

namespace onnxmap::onnx {

namespace {

constexpr std::uint32_t kLargestNumber = (1U << 29) - 1;

constexpr bool is_of_name(char c) noexcept { return is_letter(c) || c == '_'; }
constexpr bool is_blank(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool is_quote(char c) noexcept { return c == '"' || c == '\''; }

// The number that all of the digits are, in base 10 or 16.
template <class Number>
std::optional<Number> number_of(std::string_view digits, int base) {
    Number number = 0;
    const auto [read, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
    const bool is_whole = read == digits.data() + digits.size();
    if (digits.empty() || error != std::errc() || !is_whole) return std::nullopt;
    return number;
}

// What a quoted string stands for.
std::optional<std::string> unescaped(std::string_view quoted) {
    constexpr std::string_view kLetters = "abfnrtv\\'\"?";
    constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"?";
    if (quoted.size() < 2) return std::nullopt;  // the text ends before the string does
    const std::string_view text = quoted.substr(1, quoted.size() - 2);
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] != '\\') {
            out += text[i++];
            continue;
        }
        if (const auto letter = kLetters.find(text[i + 1]); letter != std::string_view::npos) {
            out += kMeanings[letter];
            i += 2;
            continue;
        }
        const bool hexadecimal = text[i + 1] == 'x';
        const int base = hexadecimal ? 16 : 8;
        const std::size_t first = i + (hexadecimal ? 2 : 1);
        std::size_t count = hexadecimal ? 2 : 3;  // at most
        std::optional<std::uint32_t> byte;
        for (; count > 0 && !byte; --count)
            byte = number_of<std::uint32_t>(text.substr(first, count), base);
        if (!byte || *byte > 0xff) return std::nullopt;
        out += static_cast<char>(*byte);
        i = std::min(first + count + 1, text.size());
    }
    return out;
}

class Splitter {
  public:
    explicit Splitter(std::string_view text) : text_(text) { next(); }

    SplitText split(const wire::MessageTable& table) {
        SplitText found;
        fields(table, found.numbered, 0);
        found.rest = std::move(rest_);
        found.rest += text_.substr(copied_);
        return found;
    }

  private:
    // The functions that return bool return false where they stop.

    // Each field up to the end of the message.
    bool fields(const wire::MessageTable& table, NumberedFields& found, std::uint32_t depth) {
        check_depth(depth);
        std::map<std::uint32_t, std::uint64_t> counts;  // of messages, by the field's number
        while (!token_.empty() && !is("}") && !is(">")) {
            if (is_digit(token_.front())) {
                const std::size_t begin = begin_of_token();
                const wire::FieldRow* const row = row_of_number(table);
                const std::size_t before = found.bytes.size();
                if (!numbered(found.bytes, depth)) return false;
                const auto type = static_cast<wire::WireType>(found.bytes[before] & 7);
                const bool is_named = row != nullptr && row->accepts(type);
                take_separator();
                // Without this field, a string or separator here would belong to the field before.
                const bool is_misplaced = begins_string() || is(",") || is(";");
                if (is_named || is_misplaced) {
                    found.bytes.resize(before);
                    return false;
                }
                blank(begin, end_of_previous_);
            } else {
                if (!named(table, found, counts, depth)) return false;
                take_separator();
            }
        }
        return true;
    }

    bool named(const wire::MessageTable& table, NumberedFields& found,
               std::map<std::uint32_t, std::uint64_t>& counts, std::uint32_t depth) {
        const wire::FieldRow* const row = table.find(token_);
        if (row == nullptr) return false;
        next();
        take(":");
        const auto value = [&] {
            if (!is("{") && !is("<")) return !row->is_message() && scalar();
            if (!row->is_message()) return false;
            const std::string_view close = is("{") ? "}" : ">";
            next();
            NumberedFields inner;
            const bool whole = fields(kSchema.message_of(*row), inner, depth + 1) && take(close);
            const std::uint64_t index = counts[row->number]++;
            if (!inner.empty()) found.inner.push_back({row->number, index, std::move(inner)});
            return whole;
        };
        if (!take("[")) return value();
        if (take("]")) return true;
        while (value()) {
            if (take("]")) return true;
            if (!take(",")) return false;
        }
        return false;
    }

    // The field that has the number. It should be named, unless its value has another wire type.
    [[nodiscard]] const wire::FieldRow* row_of_number(const wire::MessageTable& table) const {
        const auto number = number_of<std::uint32_t>(token_, 10);
        const wire::FieldRow* const row = number ? table.find(*number) : nullptr;
        return row != nullptr && !row->retired ? row : nullptr;
    }

    bool scalar() {
        if (token_.empty()) return false;
        const bool quoted = begins_string();
        do {
            if (quoted && token_.size() < 2) return false;
            next();
        } while (quoted && begins_string());
        return true;
    }

    // Appends the encoding of a numbered field.
    bool numbered(std::string& out, std::uint32_t depth) {
        const auto number = number_of<std::uint32_t>(token_, 10);
        if (!number || *number > kLargestNumber || token_.front() == '0') return false;
        next();
        const bool colon = take(":");
        if (is("{") || is("<")) return message(out, *number, depth + 1);
        if (!colon || token_.empty()) return false;
        if (begins_string()) return bytes(out, *number);
        const std::string_view token = token_;
        next();
        if (!token.starts_with("0x")) {
            const auto value = number_of<std::uint64_t>(token, 10);
            if (!value || (token.size() > 1 && token.front() == '0')) return false;
            wire::write_tag(out, *number, wire::WireType::varint);
            wire::write_varint(out, *value);
            return true;
        }
        const auto value = number_of<std::uint64_t>(token.substr(2), 16);
        if (!value || (token.size() != 10 && token.size() != 18)) return false;
        if (token.size() == 10) {
            wire::write_tag(out, *number, wire::WireType::fixed32);
            wire::write_fixed(out, static_cast<std::uint32_t>(*value));
        } else {
            wire::write_tag(out, *number, wire::WireType::fixed64);
            wire::write_fixed(out, *value);
        }
        return true;
    }

    bool message(std::string& out, std::uint32_t number, std::uint32_t depth) {
        check_depth(depth);
        const std::string_view close = is("{") ? "}" : ">";
        next();
        std::string content;
        while (!take(close)) {
            if (!numbered(content, depth)) return false;
            take_separator();
        }
        wire::write_head(out, number, content.size());
        out += content;
        return true;
    }

    bool bytes(std::string& out, std::uint32_t number) {
        std::string content;
        for (; begins_string(); next()) {
            const auto part = unescaped(token_);
            if (!part) return false;
            content += *part;
        }
        wire::write_head(out, number, content.size());
        out += content;
        return true;
    }

    static void check_depth(std::uint32_t depth) {
        if (depth > wire::kDefaultDepth) {
            throw Error("limit.depth", "messages are nested more than 100 deep");
        }
    }

    // Replaces the characters by blanks, and keeps the ends of lines.
    void blank(std::size_t begin, std::size_t end) {
        rest_ += text_.substr(copied_, begin - copied_);
        for (const char c : text_.substr(begin, end - begin)) {
            const bool continues = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
            if (!continues) rest_ += c == '\n' ? '\n' : ' ';
        }
        copied_ = end;
    }

    [[nodiscard]] bool is(std::string_view token) const noexcept { return token_ == token; }
    [[nodiscard]] bool begins_string() const noexcept {
        return !token_.empty() && is_quote(token_.front());
    }
    [[nodiscard]] std::size_t begin_of_token() const noexcept { return at_ - token_.size(); }

    bool take(std::string_view token) {
        const bool found = token_ == token;
        if (found) next();
        return found;
    }

    void take_separator() {
        if (!take(",")) take(";");
    }

    // Goes to the next token: a name, a number, a whole string, or one other character.
    void next() {
        end_of_previous_ = at_;
        while (at_ < text_.size() && (is_blank(text_[at_]) || text_[at_] == '#')) {
            at_ = text_[at_] == '#' ? std::min(text_.find('\n', at_), text_.size()) : at_ + 1;
        }
        const std::size_t begin = at_;
        if (at_ < text_.size()) {
            const char first = text_[at_++];
            if (is_quote(first)) {
                end_string(first);
            } else if (is_of_name(first) || is_digit(first) || first == '-' || first == '+' ||
                       first == '.') {
                while (at_ < text_.size() && in_word(text_[at_])) ++at_;
            }
        }
        token_ = text_.substr(begin, at_ - begin);
    }

    static bool in_word(char c) {
        return is_of_name(c) || is_digit(c) || c == '-' || c == '+' || c == '.';
    }

    // To the end of a string that stands on this line, or else no further.
    void end_string(char quote) {
        for (std::size_t i = at_; i < text_.size() && text_[i] != '\n'; ++i) {
            if (text_[i] == quote) {
                at_ = i + 1;
                return;
            }
            if (text_[i] == '\\') ++i;
        }
    }

    std::string_view text_;
    std::string_view token_;
    std::size_t at_ = 0;               // after the token
    std::size_t end_of_previous_ = 0;  // of the token before
    std::string rest_;                 // of the text before `copied_`
    std::size_t copied_ = 0;
};

void insert(std::string& out, ByteView message, const wire::MessageTable& table,
            const NumberedFields& fields) {
    std::map<std::pair<std::uint32_t, std::uint64_t>, const NumberedFields*> inner;
    for (const NumberedFields::Inner& each : fields.inner) {
        inner[{each.number, each.index}] = &each.fields;
    }
    std::array<std::uint64_t, wire::MessageTable::kMaxNumber + 1> counts{};
    wire::Reader reader(message);
    wire::Field field;
    while (reader.next(field)) {
        const wire::FieldRow* const row = table.find(field.number);
        const bool is_message = row != nullptr && row->is_message() && row->accepts(field.type);
        const auto found =
            is_message ? inner.find({field.number, counts.at(field.number)++}) : inner.end();
        if (found == inner.end()) {
            out += as_text({field.begin, field.end});
            continue;
        }
        std::string content;
        insert(content, field.bytes, kSchema.message_of(*row), *found->second);
        wire::write_head(out, field.number, content.size());
        out += content;
    }
    out += fields.bytes;
}

}  // namespace

SplitText split_numbered(std::string_view text, const wire::MessageTable& table) {
    return Splitter(text).split(table);
}

std::string insert_numbered(ByteView message, const wire::MessageTable& table,
                            const NumberedFields& fields) {
    std::string out;
    insert(out, message, table, fields);
    return out;
}

}  // namespace onnxmap::onnx
