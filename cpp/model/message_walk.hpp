// Visits every tensor or every node of a message, with its path: in subgraphs, in attributes of any
// kind, in functions, in training info.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "onnx/message.hpp"

namespace onnxmap::model {

class Document;

/// Gets a message and its path.
using VisitMessage = std::function<void(const std::string& path, const onnx::Message& message)>;

/// Calls visit(path, tensor) for each TensorProto below `root`, in file order within each field.
/// `path` begins at `root`, such as `graph.node[3].attribute["value"].t`. Throws Error
/// `file.changed` if messages are nested more than `max_depth` deep.
void for_each_tensor(const onnx::Message& root, std::uint32_t max_depth, const VisitMessage& visit);

/// The same below the root of a document. Pages that the walk maps are released, so it takes little
/// memory however far apart the tensors are.
void for_each_tensor(const Document& document, const VisitMessage& visit);

/// The same below the root as it was loaded, without the edits.
void for_each_loaded_tensor(const Document& document, const VisitMessage& visit);

/// for_each_tensor() for the SparseTensorProtos of a document.
void for_each_sparse_tensor(const Document& document, const VisitMessage& visit);

/// Calls visit(path, node) for each NodeProto below `root`. The nodes of a subgraph follow the node
/// that holds it.
void for_each_node(const onnx::Message& root, std::uint32_t max_depth, const VisitMessage& visit);

/// The same below the root of a document, in as little memory as for_each_tensor().
void for_each_node(const Document& document, const VisitMessage& visit);

/// The same for each GraphProto below the root of a document. A graph follows the one that holds
/// it.
void for_each_graph(const Document& document, const VisitMessage& visit);

/// Also gets the list that a tensor is in: each occurrence of a repeated field of tensors has its
/// own number; 0 means that the tensor is in no list.
using VisitListed =
    std::function<void(const std::string& path, const onnx::Message& tensor, std::uint64_t list)>;
/// for_each_tensor() with the lists.
void for_each_listed_tensor(const onnx::Message& root, std::uint32_t max_depth,
                            const VisitListed& visit);

/// Whether the messages of a field are tensors or can contain tensors, at any depth.
[[nodiscard]] bool holds_tensors(const wire::FieldRow& row) noexcept;
/// The same for graphs.
[[nodiscard]] bool holds_graphs(const wire::FieldRow& row) noexcept;

/// The text that follows `path` to select one of several children: `["name"]` for an attribute,
/// whose name is given, and `[position]` for other messages. A name that would make the path too
/// long is replaced by the position.
[[nodiscard]] std::string path_key(std::string_view path, std::string_view name,
                                   std::uint64_t position);

}  // namespace onnxmap::model
