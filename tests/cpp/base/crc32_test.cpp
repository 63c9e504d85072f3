// The checksum of known texts, and of texts in parts.
#include "base/crc32.hpp"

#include <doctest/doctest.h>

#include <string>

namespace onnxmap::test {

TEST_CASE("crc32: known checksums") {
    const auto of = [](std::string_view text) { return crc32(as_bytes(text)); };
    CHECK(of("") == 0);
    CHECK(of("a") == 0xe8b7'be43);
    CHECK(of("123456789") == 0xcbf4'3926);  // the check value of CRC-32/ISO-HDLC
    CHECK(of("The quick brown fox jumps over the lazy dog") == 0x414f'a339);
}

TEST_CASE("crc32: parts give the checksum of the whole") {
    std::string text;
    for (int i = 0; i < 100; ++i) text += static_cast<char>(i * 37 + 11);
    const std::uint32_t whole = crc32(as_bytes(text));
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        const std::string_view view = text;
        CHECK(crc32(as_bytes(view.substr(cut)), crc32(as_bytes(view.substr(0, cut)))) == whole);
    }
}

}  // namespace onnxmap::test
