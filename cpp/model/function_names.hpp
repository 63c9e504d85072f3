// The names of functions, and of nodes that call them.
#pragma once

#include <string>
#include <string_view>

#include "onnx/message.hpp"

namespace onnxmap::model {

/// What users write for a function, or for the one that a node calls: "domain::name", or
/// "domain::name:overload". The names may have colons, too.
[[nodiscard]] std::string function_key(const onnx::Message& function);

/// Differs for any two functions that are not of one domain, name and overload.
[[nodiscard]] std::string function_identity(const onnx::Message& function);
[[nodiscard]] std::string function_identity(std::string_view domain, std::string_view name,
                                            std::string_view overload);

}  // namespace onnxmap::model
