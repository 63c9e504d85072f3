// What a function must be like, and a call of it, so that its nodes can take the place of the call.
#pragma once

#include <cstdint>
#include <string>

#include "onnx/message.hpp"
#include "surgery/inlined_size.hpp"

namespace onnxmap::surgery {

/// Throws std::invalid_argument if a value inside of a function has the name of an input, which
/// would become what a call gives; or if nothing makes an output.
void check_names(const onnx::Message& function, std::uint32_t max_depth);

/// Throws std::invalid_argument if a node gives more inputs or outputs than the function has.
void check_call(const onnx::Message& node, const std::string& function, const InlinedSize& size);

}  // namespace onnxmap::surgery
