// The checksum of ZIP archives: of known texts, and of texts in parts, by each set of kernels.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "each_kernel_set.hpp"
#include "kernels/kernel_set.hpp"

namespace onnxmap::test {

namespace {

std::uint32_t crc32(const kernels::KernelSet& set, std::string_view text,
                    std::uint32_t before = 0) {
    const ByteView bytes = as_bytes(text);
    return set.crc32(bytes.data(), bytes.size(), before);
}

}  // namespace

TEST_CASE("crc32: known checksums") {
    with_each_set([&](const kernels::KernelSet& set) {
        CHECK(crc32(set, "") == 0);
        CHECK(crc32(set, "a") == 0xe8b7'be43);
        CHECK(crc32(set, "123456789") == 0xcbf4'3926);  // the check value of CRC-32/ISO-HDLC
        CHECK(crc32(set, "The quick brown fox jumps over the lazy dog") == 0x414f'a339);
        CHECK(crc32(set, std::string(1000, 'a')) == 0x9a38'da03);
    });
}

TEST_CASE("crc32: each set has the checksum of a loop over bits, of any length and in parts") {
    std::string text;
    for (int i = 0; i < 400; ++i) text += static_cast<char>(i * i * 37 + 11 * i);
    std::vector<std::uint32_t> of_bits;  // by length
    std::uint32_t rest = UINT32_MAX;
    of_bits.push_back(~rest);
    for (const char c : text) {
        rest ^= static_cast<std::uint8_t>(c);
        for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest % 2 == 0 ? 0 : 0xedb8'8320);
        of_bits.push_back(~rest);
    }
    with_each_set([&](const kernels::KernelSet& set) {
        const std::string_view view = text;
        for (std::size_t length = 0; length <= text.size(); ++length) {
            CHECK(crc32(set, view.substr(0, length)) == of_bits[length]);
            CHECK(crc32(set, view.substr(length), of_bits[length]) == of_bits.back());
        }
    });
}

}  // namespace onnxmap::test
