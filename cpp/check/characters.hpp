// Letters and digits, whatever the locale says.
#pragma once

namespace onnxmap::check {

[[nodiscard]] constexpr bool is_letter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

}  // namespace onnxmap::check
