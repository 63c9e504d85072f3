// Text for tests of copies.
#pragma once

#include <cstdint>
#include <string>

namespace onnxmap::test {

/// Text in which no two blocks are the same.
[[nodiscard]] inline std::string numbered(std::size_t nbytes) {
    std::string text(nbytes, '\0');
    std::uint32_t random = 1;
    for (char& each : text) {
        random = random * 1664525 + 1013904223;
        each = static_cast<char>(random >> 24);
    }
    return text;
}

}  // namespace onnxmap::test
