// Writes protobuf fields in the shortest form. It knows no schema.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "wire/tag.hpp"

namespace onnxmap::wire {

/// Bytes of a varint, 1 to 10.
[[nodiscard]] constexpr std::uint64_t varint_nbytes(std::uint64_t value) noexcept {
    std::uint64_t nbytes = 1;
    for (; value >= 0x80; value >>= 7) ++nbytes;
    return nbytes;
}

[[nodiscard]] constexpr std::uint64_t tag_of(std::uint32_t number, WireType type) noexcept {
    return std::uint64_t{number} << 3 | static_cast<std::uint64_t>(type);
}

inline void write_varint(std::string& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
}

/// A varint of at least `nbytes` bytes, at most 10.
inline void write_long_varint(std::string& out, std::uint64_t value, std::uint64_t nbytes) {
    for (; nbytes > 1 || value >= 0x80; value >>= 7) {
        out += static_cast<char>(value | 0x80);
        if (nbytes > 0) --nbytes;
    }
    out += static_cast<char>(value);
}

/// A fixed32 or fixed64, by the width of the number.
template <class Number>
void write_fixed(std::string& out, Number value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof value);
}

inline void write_tag(std::string& out, std::uint32_t number, WireType type) {
    write_varint(out, tag_of(number, type));
}

/// The tag and the length before that many bytes of content.
inline void write_head(std::string& out, std::uint32_t number, std::uint64_t nbytes) {
    write_tag(out, number, WireType::length_delimited);
    write_varint(out, nbytes);
}

/// Bytes of what write_head() writes.
[[nodiscard]] constexpr std::uint64_t head_nbytes(std::uint32_t number,
                                                  std::uint64_t nbytes) noexcept {
    return varint_nbytes(tag_of(number, WireType::length_delimited)) + varint_nbytes(nbytes);
}

}  // namespace onnxmap::wire
