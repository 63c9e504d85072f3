// The rules of an attribute of a node, and of the default of a function's attribute.
#pragma once

#include "check/body.hpp"
#include "check/checking.hpp"
#include "onnx/message.hpp"

namespace onnxmap::check {

/// `attribute`: an AttributeProto. `body`: where its node is; null if it is the default of a
/// function's attribute.
void check_attribute(Checking& checking, const onnx::Message& attribute, const Place& place,
                     Body* body);

}  // namespace onnxmap::check
