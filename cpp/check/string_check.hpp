// The forms of texts: strings of tensors, and checksums.
#pragma once

#include <string_view>

namespace onnxmap::check {

/// What is wrong with an element of a STRING tensor, as the end of a sentence; null if nothing is.
/// Source: onnx.proto, TensorProto.string_data, and RFC 3629.
[[nodiscard]] const char* fault_of_string(std::string_view text) noexcept;

/// Whether a text is a SHA-1 digest: 40 hexadecimal digits.
[[nodiscard]] bool is_sha1(std::string_view text) noexcept;

/// Whether a text has the form of a prerelease or of build metadata: identifiers of letters, digits
/// and hyphens, with dots between them. Source: Semantic Versioning 2.0.0, 9 and 10.
[[nodiscard]] bool is_semver_part(std::string_view text) noexcept;

}  // namespace onnxmap::check
