// Whether an output of one model may take the place of an input of another.
#pragma once

#include "model/document.hpp"
#include "onnx/message.hpp"

namespace onnxmap::surgery {

/// Throws std::invalid_argument, with both types, if the ValueInfoProtos tell two: kinds, element
/// types, ranks or known numbers in shapes differ. What is unknown fits.
void check_types(const model::Document& a, const onnx::Message& output, const model::Document& b,
                 const onnx::Message& input);

}  // namespace onnxmap::surgery
