// The forms of texts: of all fields that are texts, strings of tensors, and checksums.
#pragma once

#include <optional>
#include <string_view>

#include "check/findings.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

/// If onnx.proto reserves the number of an unknown field: the name that the field had before ONNX
/// removed it; empty if that is not known.
[[nodiscard]] std::optional<std::string_view> removed_field(const onnx::Message& message,
                                                            const wire::Field& unknown) noexcept;
/// With the rule that a message has no such field.
void check_removed(Findings& findings, const onnx::Message& message, const wire::Field& unknown,
                   const FieldPath& path);

/// The fields of a message that are texts are UTF-8: names, documentation, metadata. protobuf
/// refuses others, in most languages when the field is read. Of its unknown fields, none is one
/// that ONNX has removed.
void check_texts(Findings& findings, const onnx::Message& message, const FieldPath& path);

/// What is wrong with an element of a STRING tensor, as the end of a sentence; null if nothing is.
/// Source: onnx.proto, TensorProto.string_data, and RFC 3629.
[[nodiscard]] const char* fault_of_string(std::string_view text) noexcept;

/// Whether a text is a SHA-1 digest: 40 hexadecimal digits.
[[nodiscard]] bool is_sha1(std::string_view text) noexcept;

/// Whether a text has the form of a prerelease or of build metadata: identifiers of letters, digits
/// and hyphens, with dots between them. Source: Semantic Versioning 2.0.0, 9 and 10.
[[nodiscard]] bool is_semver_part(std::string_view text) noexcept;

}  // namespace onnxmap::check
