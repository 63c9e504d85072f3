// The rules of an attribute of a node, and of the default of a function's attribute.
#pragma once

#include <cstdint>

#include "check/body.hpp"
#include "check/checking.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

/// The rules of the fields of an AttributeProto. `owner`: of its node; null if it is the default of
/// a function's attribute. Returns whether it holds messages, which check_attribute_messages() is
/// for.
bool check_attribute(std::int64_t ir_version, Findings& findings, const onnx::Message& attribute,
                     const Place& place, const Owner* owner);

/// The rules of the messages in an attribute. `body`: where its node is; null if it is a default.
void check_attribute_messages(Checking& checking, const onnx::Message& attribute,
                              const Place& place, Body* body);

}  // namespace onnxmap::check
