#include "onnx/json_format.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "base/utf8.hpp"
#include "onnx/text_output.hpp"

namespace onnxmap::onnx {

namespace {

// A number as Python's repr() writes it: the fewest digits that read back as the same number.
std::string repr(double value) {
    const double magnitude = std::fabs(value);
    const bool is_fixed = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
    std::array<char, 32> text{};
    char* const end =
        std::to_chars(text.data(), text.data() + text.size(), value,
                      is_fixed ? std::chars_format::fixed : std::chars_format::scientific)
            .ptr;
    std::string shown(text.data(), end);
    if (is_fixed && shown.find('.') == std::string::npos) shown += ".0";
    return shown;
}

// The number with the fewest digits, at least six, that equals `value` as a float32.
double shortest(float value) {
    std::array<char, 40> text{};
    for (int digits = std::numeric_limits<float>::digits10;
         digits <= std::numeric_limits<float>::max_digits10; ++digits) {
        std::snprintf(text.data(), text.size(), "%.*g", digits, static_cast<double>(value));
        if (std::strtof(text.data(), nullptr) == value) break;
    }
    return std::strtod(text.data(), nullptr);
}

std::string lower_camel(std::string_view name) {
    std::string made;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const bool is_word = name[i] == '_' && i + 1 < name.size();
        if (is_word) ++i;
        const char c = name[i];
        made += is_word && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    return made;
}

class JsonPrinter : public TextOutput {
  public:
    JsonPrinter(const JsonOptions& options, const WriteText& write)
        : TextOutput(options.text, write, "its JSON takes more than "), json_(options) {}

    void print(const Message& message) {
        begin('{');
        for (std::uint32_t number = 1; number <= wire::MessageTable::kMaxNumber; ++number) {
            const wire::FieldRow* const row = message.table().find(number);
            // Retired fields are unknown to today's proto, and JSON has no unknown fields.
            if (row == nullptr || row->retired) continue;
            print_field(message, *row, true);
        }
        end('}');
    }

    /// Prints the value of a field, or one of its values. `is_member`: after the name of the field,
    /// and not an empty list.
    void print_field(const Message& message, const wire::FieldRow& row, bool is_member,
                     std::optional<std::uint64_t> index = std::nullopt) {
        const auto name = [&] {
            if (is_member) key(row);
        };
        if (row.repeated() && index) {
            std::uint64_t position = 0;
            for_each_value(message, row, [&](const wire::Field& value) {
                if (position++ == *index) print_value(message, row, value);
            });
        } else if (row.repeated()) {
            const std::uint64_t length = count(message, row);
            if (is_member && length == 0) return;
            name();
            print_list(message, row, length);
        } else if (row.is_message()) {
            if (const auto child = message.child(row)) {
                name();
                print_child(*child);
            }
        } else if (const auto value = message.find(row)) {
            name();
            print_value(message, row, *value);
        }
    }

  private:
    std::uint64_t count(const Message& message, const wire::FieldRow& row) {
        std::uint64_t found = 0;
        for_each_value(message, row, [&](const wire::Field&) { ++found; });
        return found;
    }

    void print_list(const Message& message, const wire::FieldRow& row, std::uint64_t length) {
        const bool is_cut = !row.is_message() && length > options_.longest;
        if (is_cut) begin_cut(length);
        const std::uint64_t shown = is_cut ? options_.longest : length;
        std::uint64_t position = 0;
        begin('[');
        for_each_value(message, row, [&](const wire::Field& value) {
            if (position++ >= shown) return;
            item();
            nbytes_ += json_.element_nbytes;
            print_value(message, row, value);
        });
        end(']');
        if (is_cut) end('}');
    }

    void print_child(const Message& child) {
        if (++depth_ > options_.max_depth) fail_too_deep(child);
        print(child);
        --depth_;
    }

    void print_value(const Message& message, const wire::FieldRow& row, const wire::Field& value) {
        switch (row.type) {
            case wire::Type::message: print_child(message.inner(row, value)); break;
            // Many readers take a JSON number for a double, so protobuf writes 64 bits as a string.
            case wire::Type::int64: text_ += '"' + std::to_string(value.int64()) + '"'; break;
            case wire::Type::uint64: text_ += '"' + std::to_string(value.value) + '"'; break;
            case wire::Type::int32: text_ += std::to_string(value.int32()); break;
            case wire::Type::float32: print_real(shortest(value.float32())); break;
            case wire::Type::float64: print_real(value.float64()); break;
            case wire::Type::enumeration: print_member(row, value.int32()); break;
            case wire::Type::string: print_string(value.text()); break;
            case wire::Type::bytes: print_bytes(value.text()); break;
        }
        flush_if_full();
    }

    void print_real(double value) {
        if (std::isnan(value)) {
            text_ += "\"NaN\"";
        } else if (std::isinf(value)) {
            text_ += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
        } else {
            text_ += repr(value);
        }
    }

    void print_member(const wire::FieldRow& row, std::int32_t number) {
        const auto* const member = kSchema.enum_of(row).find(number);
        text_ += member == nullptr ? std::to_string(number) : '"' + std::string(member->name) + '"';
    }

    // Calls visit(character, part) for each character of a string. A byte that is not UTF-8 is one,
    // and has no part.
    template <class Visit>
    static void for_each_character(std::string_view text, Visit&& visit) {
        for (std::size_t i = 0; i < text.size();) {
            const std::size_t length = utf8_length(text.substr(i));
            visit(text.substr(i, length == 0 ? 1 : length), length == 0);
            i += length == 0 ? 1 : length;
        }
    }

    void print_string(std::string_view value) {
        const std::string_view text = as_text(resident(as_bytes(value)));
        std::uint64_t length = 0;
        if (text.size() > options_.longest) {
            for_each_character(text, [&](std::string_view, bool) { ++length; });
        }
        const bool is_cut = length > options_.longest;
        if (is_cut) begin_cut(length);
        text_ += '"';
        std::uint64_t shown = 0;
        for_each_character(text, [&](std::string_view character, bool is_stray) {
            if (shown++ < options_.longest) print_character(character, is_stray);
        });
        text_ += '"';
        if (is_cut) end('}');
    }

    void print_character(std::string_view character, bool is_stray) {
        const std::uint32_t code = utf8_character(character);
        if (is_stray) {
            print_unit(0xdc00U + code);  // as Python's surrogateescape
            return;
        }
        if (code >= 0x20 && code < 0x7f && code != '"' && code != '\\') {
            text_ += static_cast<char>(code);
        } else if (code < 0x80 &&
                   print_escape(static_cast<char>(code), "\"\\\b\f\n\r\t", "\"\\bfnrt")) {
            return;
        } else if (code < 0x10000) {
            print_unit(code);
        } else {
            print_unit(0xd800U + ((code - 0x10000) >> 10));
            print_unit(0xdc00U + ((code - 0x10000) & 0x3ffU));
        }
        flush_if_full();
    }

    void print_unit(std::uint32_t unit) {
        constexpr std::string_view kDigits = "0123456789abcdef";
        text_ += "\\u";
        for (int shift = 12; shift >= 0; shift -= 4) text_ += kDigits[unit >> shift & 0xf];
    }

    void print_bytes(std::string_view value) {
        const bool is_cut = value.size() > options_.longest;
        if (is_cut) begin_cut(value.size());
        const ByteView shown = resident(as_bytes(value.substr(0, options_.longest)));
        constexpr std::string_view kDigits =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        text_ += '"';
        for (std::size_t i = 0; i < shown.size(); i += 3) {
            const auto byte = [&](std::size_t at) -> std::uint32_t {
                return at < shown.size() ? shown[at] : 0;
            };
            const std::uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
            text_ += kDigits[group >> 18];
            text_ += kDigits[group >> 12 & 0x3f];
            text_ += i + 1 < shown.size() ? kDigits[group >> 6 & 0x3f] : '=';
            text_ += i + 2 < shown.size() ? kDigits[group & 0x3f] : '=';
            flush_if_full();
        }
        text_ += '"';
        if (is_cut) end('}');
    }

    // The object that stands for a value that is too long, up to its first part.
    void begin_cut(std::uint64_t length) {
        begin('{');
        key("cut");
        text_ += "true";
        key("length");
        text_ += std::to_string(length);
        key("first");
    }

    void begin(char bracket) {
        text_ += bracket;
        ++level_;
        is_first_ = true;
    }

    void end(char bracket) {
        --level_;
        if (!is_first_) new_line();
        text_ += bracket;
        is_first_ = false;
    }

    // Before each element of a list, and each key.
    void item() {
        if (!is_first_) text_ += json_.indent ? "," : ", ";
        new_line();
        is_first_ = false;
    }

    void new_line() {
        if (!json_.indent) return;
        text_ += '\n';
        text_.append(level_ * *json_.indent, ' ');
    }

    void key(std::string_view name) {
        item();
        text_ += '"';
        text_ += name;
        text_ += "\": ";
    }

    void key(const wire::FieldRow& row) {
        key(json_.proto_names ? std::string(row.name) : lower_camel(row.name));
    }

    const JsonOptions& json_;
    std::uint32_t depth_ = 0;  // of messages
    std::size_t level_ = 0;    // of brackets
    bool is_first_ = true;     // whether nothing stands before in the innermost brackets
};

}  // namespace

void write_json(const Message& message, const JsonOptions& options, const WriteText& write) {
    JsonPrinter printer(options, write);
    printer.print(message);
    printer.flush();
}

void write_json(const Message& message, const wire::FieldRow& row,
                std::optional<std::uint64_t> index, const JsonOptions& options,
                const WriteText& write) {
    JsonPrinter printer(options, write);
    printer.print_field(message, row, false, index);
    printer.flush();
}

}  // namespace onnxmap::onnx
