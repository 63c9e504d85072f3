// Letters and digits of ASCII, whatever the locale says.
#pragma once

#include <string>
#include <string_view>

namespace onnxmap {

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
/// Whether a text is one or more digits.
[[nodiscard]] constexpr bool is_number(std::string_view text) noexcept {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Capital letters become small.
[[nodiscard]] constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] inline std::string lower(std::string_view text) {
    std::string made(text);
    for (char& c : made) c = lower(c);
    return made;
}

[[nodiscard]] constexpr bool is_letter(char c) noexcept {
    return lower(c) >= 'a' && lower(c) <= 'z';
}

}  // namespace onnxmap
