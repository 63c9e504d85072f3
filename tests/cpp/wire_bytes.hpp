// The protobuf wire format written out by hand, so that tests can write bytes that no library
// would. It shares no code with the reader, because it is the reader's oracle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "wire/tag.hpp"

namespace onnxmap::test {

using Bytes = std::vector<std::uint8_t>;
using wire::WireType;

// Not inlined: in optimised code, GCC 12 would warn of an overflow that cannot happen.
[[gnu::noinline]] inline void append(Bytes& bytes, ByteView more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
}

template <class... Parts>
[[nodiscard]] Bytes join(const Parts&... parts) {
    Bytes bytes;
    (append(bytes, parts), ...);
    return bytes;
}

[[nodiscard]] inline Bytes repeat(std::size_t count, const Bytes& part) {
    Bytes bytes;
    bytes.reserve(count * part.size());
    for (std::size_t i = 0; i < count; ++i) append(bytes, part);
    return bytes;
}

[[nodiscard]] inline Bytes from_text(std::string_view text) { return join(as_bytes(text)); }

/// Bytes from hexadecimal digits. Blanks between digits are ignored.
[[nodiscard]] inline Bytes from_hex(std::string_view digits) {
    Bytes bytes;
    bool high = true;
    for (const char c : digits) {
        if (c == ' ') continue;
        const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
        if (high) bytes.push_back(0);
        bytes.back() = static_cast<std::uint8_t>(bytes.back() | (high ? digit << 4 : digit));
        high = !high;
    }
    return bytes;
}

/// `value` as a varint of at least `width` bytes. If `width` is more than needed, it is over-long.
[[nodiscard]] inline Bytes varint(std::uint64_t value, std::size_t width = 0) {
    Bytes bytes;
    do {
        const bool more = (value >> 7) != 0 || bytes.size() + 1 < width;
        bytes.push_back(static_cast<std::uint8_t>((value & 0x7f) | (more ? 0x80 : 0)));
        value >>= 7;
        if (!more) return bytes;
    } while (true);
}

[[nodiscard]] inline Bytes tag(std::uint64_t number, WireType type, std::size_t width = 0) {
    return varint(number << 3 | static_cast<std::uint64_t>(type), width);
}

[[nodiscard]] inline Bytes little_endian(std::uint64_t value, std::size_t width) {
    Bytes bytes;
    for (std::size_t i = 0; i < width; ++i) {
        bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
    return bytes;
}

[[nodiscard]] inline Bytes scalar(std::uint64_t number, std::uint64_t value) {
    return join(tag(number, WireType::varint), varint(value));
}

[[nodiscard]] inline Bytes fixed32(std::uint64_t number, std::uint32_t value) {
    return join(tag(number, WireType::fixed32), little_endian(value, 4));
}

[[nodiscard]] inline Bytes fixed64(std::uint64_t number, std::uint64_t value) {
    return join(tag(number, WireType::fixed64), little_endian(value, 8));
}

/// A length-delimited field: bytes, a string, a message or a packed run.
[[nodiscard]] inline Bytes blob(std::uint64_t number, const Bytes& content,
                                std::size_t length_width = 0) {
    return join(tag(number, WireType::length_delimited), varint(content.size(), length_width),
                content);
}

[[nodiscard]] inline Bytes blob(std::uint64_t number, std::string_view text) {
    return blob(number, from_text(text));
}

[[nodiscard]] inline Bytes group(std::uint64_t number, const Bytes& content = {}) {
    return join(tag(number, WireType::start_group), content, tag(number, WireType::end_group));
}

[[nodiscard]] inline Bytes packed(std::uint64_t number, const std::vector<std::uint64_t>& values) {
    Bytes run;
    for (const std::uint64_t value : values) append(run, varint(value));
    return blob(number, run);
}

/// `innermost` wrapped in length-delimited fields; the first of `numbers` is the outermost. Tags
/// and lengths are written from the inside out, so 100 000 levels copy nothing twice.
[[nodiscard]] inline Bytes nested(const std::vector<std::uint64_t>& numbers,
                                  const Bytes& innermost = {}) {
    std::vector<Bytes> heads;
    std::uint64_t size = innermost.size();
    for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
        heads.push_back(join(tag(*number, WireType::length_delimited), varint(size)));
        size += heads.back().size();
    }
    Bytes bytes;
    for (auto head = heads.rbegin(); head != heads.rend(); ++head) append(bytes, *head);
    append(bytes, innermost);
    return bytes;
}

}  // namespace onnxmap::test
