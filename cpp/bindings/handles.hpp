// The C++ values of bound objects: a share of the document, and a view of one of its messages.
#pragma once

#include <memory>

#include "model/document.hpp"
#include "model/graph.hpp"
#include "model/message_list.hpp"
#include "model/unknown_fields.hpp"
#include "onnx/message.hpp"

namespace onnxmap::bindings {

using DocumentPtr = std::shared_ptr<const model::Document>;

struct Handle {
    DocumentPtr document;
    onnx::Message message;
};

// One C++ type per Python class, so that pybind11 can tell them apart.
struct ProtoView : Handle {};
struct Node : Handle {};
struct Attribute : Handle {};
struct ValueInfo : Handle {};
struct Tensor : Handle {};
struct SparseTensor : Handle {};
struct Function : Handle {};
struct TrainingInfo : Handle {};
struct Operator : Handle {};
struct DeviceConfiguration : Handle {};
struct NodeDeviceConfiguration : Handle {};
struct ShardingSpec : Handle {};
struct ShardedDim : Handle {};
struct SimpleShardedDim : Handle {};
struct IntIntListEntry : Handle {};
struct QuantizationAnnotation : Handle {};

/// A graph, with the model layer's view of it.
struct Graph : Handle {
    std::shared_ptr<const model::Graph> graph;
};

/// The names of the dense or of the sparse initializers of a graph.
struct TensorNames {
    DocumentPtr document;
    std::shared_ptr<const model::Graph> graph;
    bool sparse;
};

/// A repeated message field as a lazy sequence: elements are made on access.
struct MessageList {
    DocumentPtr document;
    model::MessageList messages;
    bool as_proto;  // elements are ProtoViews, not objects of the message classes
};

/// The unknown fields of a message, or all fields of an unknown group, as a lazy sequence.
struct UnknownFieldList {
    DocumentPtr document;
    std::shared_ptr<const model::UnknownFields> fields;
};

}  // namespace onnxmap::bindings
