// Reads JSON from front to back, and accepts what RFC 8259 does. Nothing is kept: the caller asks
// for the values that it expects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace onnxmap::safetensors {

class JsonReader {
  public:
    /// `origin`: where the text begins in its file, for error texts.
    explicit JsonReader(std::string_view text, std::uint64_t origin = 0) noexcept
        : text_(text), origin_(origin) {}

    // All functions throw Error `model.safetensors`, with the offset, if the text has anything else
    // there. Blanks before a value are skipped.

    /// Calls visit(key) for each member of an object; it reads the value.
    template <class Visit>
    void for_each_member(Visit&& visit) {
        begin_list('{');
        if (!take('}')) {
            do {
                const std::string key = string();
                expect(':');
                visit(key);
            } while (take(','));
            expect('}');
        }
        --depth_;
    }

    /// Calls visit() for each element of an array; it reads the element.
    template <class Visit>
    void for_each_element(Visit&& visit) {
        begin_list('[');
        if (!take(']')) {
            do visit();
            while (take(','));
            expect(']');
        }
        --depth_;
    }

    /// Unescaped, and UTF-8.
    [[nodiscard]] std::string string();
    /// An integer from 0 to 2^64 - 1.
    [[nodiscard]] std::uint64_t integer();
    /// Whether the next value is this word, such as null, which is then read.
    [[nodiscard]] bool take_word(std::string_view word) noexcept;
    void skip_value();
    /// Only blanks are left.
    void end();

    /// Where the next byte stands in the file.
    [[nodiscard]] std::uint64_t offset() const noexcept { return origin_ + at_; }
    [[noreturn]] void fail(const std::string& what) const;

  private:
    static constexpr std::uint32_t kMostDepth = 127;  // as serde_json

    [[nodiscard]] char next() noexcept;
    [[nodiscard]] bool take(char wanted) noexcept;
    void expect(char wanted);
    void begin_list(char open);
    [[nodiscard]] std::uint32_t four_digits();
    void append_escape(std::string& out);
    void skip_digits();
    void skip_number();

    std::string_view text_;
    std::uint64_t origin_;
    std::size_t at_ = 0;
    std::uint32_t depth_ = 0;
};

/// The text as a JSON string, with its quotes. `text` is UTF-8.
void write_json_string(std::string& out, std::string_view text);

}  // namespace onnxmap::safetensors
