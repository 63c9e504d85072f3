// Every tensor of a message, wherever it hides: initializers, sparse values and indices,
// attributes of any kind, subgraphs, functions, training info.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "onnx/message.hpp"

namespace onnxmap::model {

/// Calls visit(path, tensor) for each TensorProto below `root`, in file order per field, with the
/// path from there on, like `graph.node[3].attribute["value"].t`. Throws Error `file.changed` where
/// messages are nested more than `max_depth` deep.
void for_each_tensor(const onnx::Message& root, std::uint32_t max_depth,
                     const std::function<void(const std::string&, const onnx::Message&)>& visit);

/// The same, and which list each is in: a number for each occurrence of a repeated field of
/// tensors, 0 for a tensor that is in none.
void for_each_listed_tensor(
    const onnx::Message& root, std::uint32_t max_depth,
    const std::function<void(std::uint64_t list, const onnx::Message&)>& visit);

/// Whether the messages of a field are tensors or can hold some, at any depth.
[[nodiscard]] bool holds_tensors(const wire::FieldRow& row) noexcept;

/// The text that continues `path` to one of several children: `["name"]` for an attribute, whose
/// name is given, and `[position]` for other messages. A name that would make the path long is left
/// out.
[[nodiscard]] std::string path_key(std::string_view path, std::string_view name,
                                   std::uint64_t position);

}  // namespace onnxmap::model
