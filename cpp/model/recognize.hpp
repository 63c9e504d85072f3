// File formats that users confuse with ONNX models.
#pragma once

#include <string_view>

#include "base/bytes.hpp"

namespace onnxmap::model {

/// The format of a file that is not an ONNX model, for an error text ("a Git LFS pointer"), or
/// empty.
[[nodiscard]] std::string_view recognize(ByteView head) noexcept;

}  // namespace onnxmap::model
