// Borrowed bytes. A view owns nothing: the function that returns a view documents what keeps the
// bytes alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace onnxmap {

using ByteView = std::span<const std::uint8_t>;

/// The same bytes as text; not checked for UTF-8 (proto2 strings are not).
[[nodiscard]] inline std::string_view as_text(ByteView bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[nodiscard]] inline ByteView as_bytes(std::string_view text) noexcept {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace onnxmap
