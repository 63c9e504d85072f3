// What the author of a node may have meant by an operator or an attribute that is not there.
// Each is the end of a sentence, and empty if nothing is near.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "onnx/operators.hpp"

namespace onnxmap::check {

/// Of an operator that this version of its domain does not have.
[[nodiscard]] std::string unknown_operator_hint(std::string_view domain, std::int64_t version,
                                                std::string_view op_type);
/// Of an attribute that the operator does not have.
[[nodiscard]] std::string unknown_attribute_hint(const onnx::Operator& op, std::string_view name);
/// Of a deprecated operator: what replaced it.
[[nodiscard]] std::string replacement_hint(const onnx::Operator& op);

}  // namespace onnxmap::check
