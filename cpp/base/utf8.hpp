// UTF-8 in bytes that may be anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace onnxmap {

/// Length of the UTF-8 sequence at the front, or 0 if there is none.
/// Source: Unicode 15, table 3-7 (no surrogates, nothing overlong, nothing past U+10FFFF).
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto continues = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
        return i < text.size() && byte(i) >= low && byte(i) <= high;
    };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first < 0xc2) return 0;
    if (first < 0xe0) return continues(1) ? 2 : 0;
    if (first < 0xf0) {
        const unsigned low = first == 0xe0 ? 0xa0 : 0x80;
        const unsigned high = first == 0xed ? 0x9f : 0xbf;
        return continues(1, low, high) && continues(2) ? 3 : 0;
    }
    if (first > 0xf4) return 0;
    const unsigned low = first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
}

/// The character of a UTF-8 sequence; of one byte, whatever that is, the byte.
[[nodiscard]] inline char32_t utf8_character(std::string_view sequence) noexcept {
    char32_t character = static_cast<unsigned char>(sequence[0]);
    if (sequence.size() > 1) character &= 0x7fU >> sequence.size();
    for (const char next : sequence.substr(1)) {
        character = character << 6 | (static_cast<unsigned char>(next) & 0x3fU);
    }
    return character;
}

/// Source: RFC 3629.
[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept {
    constexpr std::uint64_t kHighBits = 0x8080'8080'8080'8080;
    // Most text is ASCII, of which 8 characters are looked at together.
    for (std::uint64_t word = 0; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
        std::memcpy(&word, text.data(), sizeof word);
        if ((word & kHighBits) != 0) break;
    }
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

}  // namespace onnxmap
