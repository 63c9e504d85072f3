// Graphs that are defaults of attributes of functions. Such a graph uses values wherever a node
// refers to the attribute, also in subgraphs: what it uses is not followed.
#pragma once

#include <optional>
#include <string_view>

#include "model/document.hpp"
#include "model/node.hpp"
#include "onnx/message.hpp"

namespace onnxmap::model {

/// The first attribute of a function that has a graph as its default.
[[nodiscard]] std::optional<Attribute> default_graph(const onnx::Message& function);

/// Throws std::invalid_argument if the function that is a body, or is around it, has one; the text
/// ends in `advice`.
void check_no_default_graphs(const Document& document, const onnx::Message& body,
                             std::string_view advice);

/// The advice of edits that follow the uses of values.
inline constexpr std::string_view kRemoveDefault =
    "uses of values in that graph cannot be followed; remove the default first";

}  // namespace onnxmap::model
