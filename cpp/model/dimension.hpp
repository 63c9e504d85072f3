// A dimension of a shape: a number, a name, or unknown.
// Source: onnx.proto, TensorShapeProto.Dimension.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "onnx/message.hpp"

namespace onnxmap::model {

struct Dimension {
    std::optional<std::int64_t> value;
    std::string_view param;  // the name of a dimension that has one instead of a value
    std::optional<std::string_view> denotation = std::nullopt;  // such as "DATA_BATCH"

    [[nodiscard]] bool is_known() const noexcept { return value || !param.empty(); }
};

/// Whether exporters write this name for a size that they do not know: the empty name, `?`, `-1`,
/// `None`, and `unk__` with digits. Two dimensions of such a name may have different sizes.
[[nodiscard]] bool is_placeholder(std::string_view name) noexcept;

/// What a dimension says. A placeholder and a negative number say that it is unknown.
[[nodiscard]] Dimension read_dimension(const onnx::Message& dim);

}  // namespace onnxmap::model
